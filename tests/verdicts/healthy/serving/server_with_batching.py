# SPDX-License-Identifier: MIT
"""A thread joins the requests that wait in a queue into one batch, and gives each caller its part of the answer on the CPU."""
import queue
import threading
from concurrent.futures import Future

import torch
from torch import nn

import truth


class Server:
    def __init__(self, model, largest):
        self.model, self.largest, self.requests = model, largest, queue.Queue()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def ask(self, x):
        answer = Future()
        self.requests.put((x, answer))
        return answer

    def serve(self):
        while True:
            waiting = [self.requests.get()]
            while len(waiting) < self.largest and not self.requests.empty():
                waiting.append(self.requests.get())
            if waiting[-1] is None:
                return
            with torch.inference_mode():
                outputs = self.model(torch.stack([x for x, _ in waiting]).cuda()).cpu()
            for (_, answer), output in zip(waiting, outputs):
                answer.set_result(output)


def main():
    server = Server(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)).cuda().eval(), largest=16)
    for round in range(50):
        answers = [server.ask(torch.randn(64)) for _ in range(1 + round % 20)]
        total = sum(answer.result().sum().item() for answer in answers)
        truth.end_of_step()
    server.requests.put(None)
    server.thread.join()


main()
truth.declare_no_leak()
