# SPDX-License-Identifier: MIT
"""Joins the outputs of a test pass to one tensor by torch.cat in each step, and drops the tensor after the scores."""
import torch
from torch import nn

import truth


def test(model, batches):
    outputs = torch.empty(0, 4, device='cuda')
    for batch in batches:
        outputs = torch.cat([outputs, model(batch.cuda())])
        truth.end_of_step()
    return outputs.mean(0).tolist()


net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 4)).cuda().eval()
with torch.no_grad():
    print(test(net, [torch.randn(64, 30) for _ in range(50)]))
truth.declare_no_leak()
