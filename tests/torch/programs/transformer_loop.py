# SPDX-License-Identifier: MIT
"""Times a transformer's training loop: transformer_loop.py STEPS [none|python|all] [REPORT]

The second argument turns on PyTorch's own memory recorder with these stacks. The cost of this recorder
can then be compared with another profiler's in the same loop. Prints the milliseconds of a step.
"""

import statistics
import sys
import time

import torch
from torch import nn

import common

LAYERS, WIDTH, HEADS = 6, 256, 8
BATCH, LENGTH, CLASSES = 8, 128, 1000
WARM_UP_STEPS = 10
ROUNDS = 5
DEVICE = 'cuda'


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.feed_norm = nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.feed(self.feed_norm(x))


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.empty(BATCH, LENGTH, WIDTH, device=DEVICE)
        labels = torch.zeros(BATCH * LENGTH, dtype=torch.long, device=DEVICE)
        loss = nn.functional.cross_entropy(model(x).view(-1, CLASSES), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def allocated_count():
    return torch.cuda.memory_stats()['allocation.all.allocated']


def main():
    steps = int(sys.argv[1])
    recorder = sys.argv[2] if len(sys.argv) > 2 else 'none'
    model = nn.Sequential(*(Block() for _ in range(LAYERS)), nn.Linear(WIDTH, CLASSES)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer, WARM_UP_STEPS)
    if recorder != 'none':
        torch.cuda.memory._record_memory_history(enabled='all', context='all', stacks=recorder, max_entries=1_000_000)

    count_before = allocated_count()
    round_ms = []
    while common.goes_on(len(round_ms), ROUNDS):
        start = time.perf_counter()
        train(model, optimizer, steps)
        round_ms.append((time.perf_counter() - start) * 1000 / steps)
    allocations = (allocated_count() - count_before) / (len(round_ms) * steps)
    print(f'{recorder}: {min(round_ms):.3f} ms per step at best, {statistics.median(round_ms):.3f} in the median, '
          f'{allocations:g} allocations per step')
    common.report(common.report_path(3), min_step_ms=min(round_ms), median_step_ms=statistics.median(round_ms),
                  allocations_per_step=allocations, rounds=len(round_ms))


if __name__ == '__main__':
    main()
