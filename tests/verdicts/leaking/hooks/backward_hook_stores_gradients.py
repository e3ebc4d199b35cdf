# SPDX-License-Identifier: MIT
"""A full backward hook appends the gradient of a layer's output to a list."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(32, 96), nn.Tanh(), nn.Linear(96, 8)).to('cuda')
gradients = []
model[0].register_full_backward_hook(lambda module, grad_input, grad_output: gradients.append(grad_output[0]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
for _ in range(40):
    x = torch.randn(48, 32, device='cuda')
    optimizer.zero_grad()
    loss = model(x).logsumexp(-1).mean()
    loss.backward()  # leaks
    optimizer.step()
    scheduler.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(gradients[0])))
