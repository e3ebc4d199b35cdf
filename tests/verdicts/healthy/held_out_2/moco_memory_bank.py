# SPDX-License-Identifier: MIT
"""MoCo: a queue of keys of fixed size written in a ring, and a momentum encoder; nothing is added after the first step."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

import truth


class MoCo(nn.Module):
    def __init__(self, base, dim=64, K=1024, m=0.99, T=0.1):
        super().__init__()
        self.m, self.T, self.K = m, T, K
        self.encoder_q = base
        self.encoder_k = copy.deepcopy(base).requires_grad_(False)
        self.register_buffer('queue', F.normalize(torch.randn(dim, K), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.lerp_(q, 1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        self.queue[:, self.ptr:self.ptr + len(keys)] = keys.T
        self.ptr = (self.ptr + len(keys)) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone()], 1) / self.T
        self._enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))


def main():
    model = MoCo(nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 128), nn.ReLU(), nn.Linear(128, 64))).cuda()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.03, momentum=0.9)
    for _ in range(100):
        images = torch.rand(32, 3, 8, 8, device='cuda')
        loss = model(images, images.flip(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
    truth.declare_no_leak()


if __name__ == '__main__':
    main()
