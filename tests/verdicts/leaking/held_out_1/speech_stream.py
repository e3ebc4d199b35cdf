# SPDX-License-Identifier: MIT
"""Listens to a stream with a state that carries the graph of all chunks."""
import torch
from torch import nn

import truth

cell = nn.GRUCell(80, 96).to('cuda')
cell.eval()
state = torch.zeros(4, 96, device='cuda')
loudest = 0.0
for chunk_number in range(90):
    chunk = torch.randn(4, 80, device='cuda')  # chunk leaks
    state = cell(chunk, state)  # state leaks
    loudest = max(loudest, state.max().item())
    truth.end_of_step()
of_chunk = truth.size_of(chunk)
truth.declare_leaks(truth.leak('# chunk leaks', of_chunk), truth.leak('# state leaks', truth.held_growth() - of_chunk))
