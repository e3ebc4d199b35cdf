# SPDX-License-Identifier: MIT
"""A thread that lives as long as the program evaluates copies of the weights on a stream of its own while the main thread trains."""
import queue
import threading

import torch
from torch import nn

import truth


def evaluate_forever(jobs, scores):
    stream = torch.cuda.Stream()
    model = nn.Sequential(nn.Linear(70, 70), nn.ReLU(), nn.Linear(70, 1)).cuda()
    with torch.cuda.stream(stream), torch.no_grad():
        while (weights := jobs.get()) is not None:
            model.load_state_dict(weights)
            scores.append(model(torch.randn(200, 70, device='cuda')).mean().item())
            jobs.task_done()


def main():
    jobs, scores = queue.Queue(maxsize=2), []
    evaluator = threading.Thread(target=evaluate_forever, args=(jobs, scores))
    evaluator.start()
    model = nn.Sequential(nn.Linear(70, 70), nn.ReLU(), nn.Linear(70, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(60):
        loss = model(torch.randn(30, 70, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            jobs.put({name: value.clone() for name, value in model.state_dict().items()})
        truth.end_of_step()
    jobs.put(None)
    evaluator.join()


main()
truth.declare_no_leak()
