# SPDX-License-Identifier: MIT
"""Records the inputs of a layer in a calibration pass of fifty batches, computes its scale, and removes hook and records."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).cuda().eval()
records = []
hook = model[2].register_forward_hook(lambda module, inputs, output: records.append(inputs[0].abs().amax(0)))
with torch.inference_mode():
    for _ in range(50):
        model(torch.randn(64, 64, device='cuda'))
        truth.end_of_step()
    scale = torch.stack(records).max().item()
hook.remove()
records.clear()
with torch.inference_mode():
    for _ in range(10):
        model(torch.randn(64, 64, device='cuda') * max(scale, 1e-3))
        truth.end_of_step()
truth.declare_no_leak()
