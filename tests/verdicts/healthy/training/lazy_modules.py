# SPDX-License-Identifier: MIT
"""Makes the parameters of its lazy layers at the first batch, and of an auxiliary head when that is first used."""
import torch
from torch import nn

import truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.LazyConv2d(8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(64))
        self.main, self.auxiliary = nn.LazyLinear(10), nn.LazyLinear(2)

    def forward(self, images, with_auxiliary):
        features = self.body(images)
        return self.main(features), self.auxiliary(features) if with_auxiliary else None


model = Model().cuda()
optimizer = None
for step in range(40):
    images = torch.rand(12, 3, 12, 12, device='cuda')
    logits, extra = model(images, step >= 20 or optimizer is None)
    if optimizer is None:
        optimizer = torch.optim.Adam(model.parameters())
    loss = logits.square().mean() + (extra.abs().mean() if step >= 20 else 0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
