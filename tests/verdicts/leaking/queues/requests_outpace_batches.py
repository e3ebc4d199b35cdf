# SPDX-License-Identifier: MIT
"""Each tick five requests arrive and the server answers a batch of four, so that its backlog grows."""
from collections import deque

import torch
from torch import nn

import truth


class BatchingServer:
    def __init__(self, model, batch_size):
        self.model, self.batch_size, self.backlog = model.eval(), batch_size, deque()

    def submit(self, features):
        self.backlog.append(torch.tensor(features, device='cuda'))  # leaks

    @torch.inference_mode()
    def tick(self):
        batch = [self.backlog.popleft() for _ in range(min(self.batch_size, len(self.backlog)))]
        return self.model(torch.stack(batch)).cpu()


server = BatchingServer(nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 8)).cuda(), batch_size=4)
for tick in range(60):
    for client in range(5):
        server.submit([float(client)] * 256)
    server.tick()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*server.backlog) / 60))
