# SPDX-License-Identifier: MIT
"""Fills one of two buffers on the device while the other is processed, both allocated at the start."""
import torch
from torch import nn

import truth

buffers = [torch.empty(64, 200, device='cuda') for _ in range(2)]
copied = [torch.cuda.Event() for _ in range(2)]
copying = torch.cuda.Stream()
network = nn.Sequential(nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 10)).cuda().eval()


def fill(which):
    with torch.cuda.stream(copying):
        buffers[which].copy_(torch.randn(64, 200), non_blocking=True)
        copied[which].record(copying)


fill(0)
counts = torch.zeros(10, device='cuda')
with torch.inference_mode():
    for step in range(50):
        fill((step + 1) % 2)
        torch.cuda.current_stream().wait_event(copied[step % 2])
        counts += network(buffers[step % 2]).softmax(1).sum(0)
        copying.wait_stream(torch.cuda.current_stream())
        truth.end_of_step()
truth.declare_no_leak()
