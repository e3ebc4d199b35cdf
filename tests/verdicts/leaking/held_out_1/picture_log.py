# SPDX-License-Identifier: MIT
"""An autoencoder whose pictures stay on the device for a log, every seventh step."""
import torch
from torch import nn

import truth


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU())
        self.decoder = nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z)  # leaks


class PictureLog:
    def __init__(self, every):
        self.every = every
        self.pictures = []

    def __call__(self, step, picture):
        if step % self.every == 0:
            self.pictures.append((step, picture))


log = PictureLog(every=7)
model = AutoEncoder().to('cuda')
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(1, 141):
    x = torch.rand(12, 1, 20, 20, device='cuda')
    y = model(x)
    loss = (x - y).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log(step, y.data)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(y) / 7, first_step=6))
