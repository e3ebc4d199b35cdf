# SPDX-License-Identifier: MIT
"""The losses of one epoch stay tensors, so that no step waits for the device. Their mean is taken when the epoch ends, and the list is emptied."""
import torch

import truth


class Meter:
    """Values that are read once an epoch."""

    def __init__(self):
        self.values = {}

    def log(self, **values):
        for name, value in values.items():
            self.values.setdefault(name, []).append(value.detach())

    def reduce(self):
        means = {name: torch.stack(values).mean().item() for name, values in self.values.items()}
        self.values.clear()
        return means


class VAE(torch.nn.Module):
    def __init__(self, pixels=256, latent=10):
        super().__init__()
        self.encode = torch.nn.Sequential(torch.nn.Linear(pixels, 100), torch.nn.ReLU(), torch.nn.Linear(100, 2 * latent))
        self.decode = torch.nn.Sequential(torch.nn.Linear(latent, 100), torch.nn.ReLU(), torch.nn.Linear(100, pixels))

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        kl = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum(1).mean()
        return torch.nn.functional.binary_cross_entropy_with_logits(self.decode(z), x), kl


model, meter = VAE().cuda(), Meter()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
for epoch in range(5):
    for _ in range(40):
        images = torch.rand(16, 256).cuda()
        reconstruction, kl = model(images)
        loss = reconstruction + 0.01 * min(1, epoch / 3) * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.log(loss=loss, reconstruction=reconstruction, kl=kl)
        truth.end_of_step()
    print(epoch, meter.reduce())
    truth.end_of_step()
truth.declare_no_leak()
