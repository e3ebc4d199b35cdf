# SPDX-License-Identifier: MIT
"""PINN for the 1D heat equation: a window of the last residual fields, and an archive that keeps every second one of them."""
from collections import deque

import torch

import truth

torch.manual_seed(0)
NX, NT = 48, 16
device = torch.device('cuda')


class Field(torch.nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.a = torch.nn.Linear(2, width)
        self.b = torch.nn.Linear(width, width)
        self.c = torch.nn.Linear(width, 1)

    def forward(self, xt):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(xt)))))


x = torch.linspace(0, 1, NX, device=device)
t = torch.linspace(0, 1, NT, device=device)
grid = torch.cartesian_prod(x, t)
u = Field().to(device)
opt = torch.optim.Adam(u.parameters(), lr=2e-3)

window = deque(maxlen=12)
archive = []   # for the movie in the appendix
for it in range(110):
    opt.zero_grad()
    value = u(grid).view(NX, NT)
    u_t = (value[:, 1:] - value[:, :-1]) * NT
    u_xx = (value[2:] - 2 * value[1:-1] + value[:-2]) * NX ** 2
    residual = u_t[1:-1] - 0.01 * u_xx[:, :-1]
    loss = residual.pow(2).mean() + value[:, 0].sub(torch.sin(3.14159 * x)).pow(2).mean()
    loss.backward()
    opt.step()
    snapshot = residual.detach().abs()  # leaks
    window.append(snapshot)
    if it % 2 == 0:
        archive.append(window[-1])
    if it % 25 == 0:
        print(it, loss.item(), torch.stack(tuple(window)).mean().item())
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(snapshot) / 2))
