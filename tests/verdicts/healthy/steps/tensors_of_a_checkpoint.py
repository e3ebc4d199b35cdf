# SPDX-License-Identifier: MIT
"""Loads the tensors of a checkpoint one by one, in half precision, and looks at their norms at the end."""
import torch

import truth

state = {}
for number in range(60):
    full = torch.randn(64, 64).cuda()
    state[f'layer{number}'] = full.half()
    truth.end_of_step()
print(max(t.abs().max().item() for t in state.values()))
state.clear()
truth.declare_no_leak()
