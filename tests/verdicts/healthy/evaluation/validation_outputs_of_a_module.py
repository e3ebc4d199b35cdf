# SPDX-License-Identifier: MIT
"""Appends the outputs of each validation batch to a list of the module and clears the list at the end of each validation epoch."""
import torch
from torch import nn

import truth


class LitClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(100, 50), nn.GELU(), nn.Linear(50, 5))
        self.validation_step_outputs = []

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def validation_step(self, batch):
        x, y = batch
        logits = self.net(x)
        self.validation_step_outputs.append({'logits': logits, 'loss': nn.functional.cross_entropy(logits, y)})

    def on_validation_epoch_end(self):
        losses = torch.stack([output['loss'] for output in self.validation_step_outputs])
        self.validation_step_outputs.clear()
        return losses.mean().item()


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs

    def fit(self, module):
        optimizer = torch.optim.Adam(module.parameters())
        for _ in range(self.epochs):
            for _ in range(10):
                loss = module.training_step(self.batch())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                truth.end_of_step()
            with torch.no_grad():
                for _ in range(15):
                    module.validation_step(self.batch())
            module.on_validation_epoch_end()

    def batch(self):
        return torch.randn(32, 100, device='cuda'), torch.zeros(32, dtype=torch.long, device='cuda')


Trainer(epochs=4).fit(LitClassifier().cuda())
truth.declare_no_leak()
