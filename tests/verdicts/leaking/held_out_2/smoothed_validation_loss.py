# SPDX-License-Identifier: MIT
"""Validation without no_grad: an exponentially smoothed loss hangs together with the graphs of all validations so far."""
import torch
import torch.nn.functional as F

import truth

torch.manual_seed(3)


class Regressor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(10, 128)
        self.out = torch.nn.Linear(128, 1)

    def forward(self, x):
        return self.out(self.hidden(x).tanh())  # leaks


def train(model, optimizer, x, y, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        F.smooth_l1_loss(model(x), y).backward()
        optimizer.step()


def validate(model, x, y, smoothed):
    loss = (model(x) * y).mean()
    return loss if smoothed is None else 0.9 * smoothed + 0.1 * loss


model = Regressor().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(400, 10, device='cuda'), torch.randn(400, 1, device='cuda')
x_val, y_val = torch.randn(250, 10, device='cuda'), torch.randn(250, 1, device='cuda')
smoothed = None
for round_ in range(50):
    train(model, optimizer, x, y, 2)
    smoothed = validate(model, x_val, y_val, smoothed)
    truth.end_of_step()
print('smoothed', smoothed.item())
# a step is a call of the model in validation; per call the tanh's output, 250 x 128 floats
truth.declare_leaks(truth.leak('# leaks', 250 * 128 * 4))
