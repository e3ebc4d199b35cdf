# SPDX-License-Identifier: MIT
"""A worker thread evaluates snapshots of the weights and stores its results in its own list."""
import queue
import threading

import torch
from torch import nn

import truth


class Analyst(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.inbox, self.spectra = queue.Queue(), []

    def run(self):
        while (weight := self.inbox.get()) is not None:
            self.spectra.append(weight @ weight.T)  # leaks
            self.inbox.task_done()


def main():
    analyst = Analyst()
    analyst.start()
    model = nn.Linear(80, 48).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(40):
        loss = model(torch.randn(10, 80, device='cuda')).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        analyst.inbox.put(model.weight.detach())
        analyst.inbox.join()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(analyst.spectra[0])))


main()
