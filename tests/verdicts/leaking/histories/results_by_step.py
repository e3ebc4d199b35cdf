# SPDX-License-Identifier: MIT
"""A global dictionary has the reconstruction of each step under the step's number."""
import torch
from torch import nn

import truth

RESULTS = {}


class AutoEncoder(nn.Module):
    def __init__(self, width=64, code=8):
        super().__init__()
        self.encoder = nn.Linear(width, code)
        self.decoder = nn.Linear(code, width)

    def forward(self, x):
        return self.decoder(torch.relu(self.encoder(x)))  # leaks


def train_step(step, model, optimizer):
    x = torch.randn(32, 64, device='cuda')
    reconstruction = model(x)
    loss = nn.functional.mse_loss(reconstruction, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    RESULTS[step] = {'loss': loss.item(), 'reconstruction': reconstruction}


model = AutoEncoder().cuda()
optimizer = torch.optim.RAdam(model.parameters())
for step in range(45):
    train_step(step, model, optimizer)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(RESULTS[0]['reconstruction'])))
