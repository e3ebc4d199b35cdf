# SPDX-License-Identifier: MIT
"""Each fifth step validates without no_grad() and appends the loss: with each loss, a whole graph stays."""
import torch
import torch.nn.functional as F
from torch import nn

import truth


class LitRegressor:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(36, 72), nn.Softplus(), nn.Linear(72, 72), nn.Softplus(), nn.Linear(72, 1)).cuda()
        self.validation_losses = []

    def configure_optimizers(self):
        return torch.optim.RAdam(self.model.parameters(), lr=2e-3)

    def training_step(self, batch):
        x, y = batch
        return F.huber_loss(self.model(x.cuda()), y.cuda())

    def validation_step(self, batch):
        x, y = batch
        self.validation_losses.append(F.huber_loss(self.model(x.cuda()), y.cuda()))  # leaks


class MiniTrainer:
    def __init__(self, max_steps, validate_every):
        self.max_steps, self.validate_every = max_steps, validate_every
        self.left = 0

    @staticmethod
    def batch():
        return torch.randn(48, 36), torch.randn(48, 1)

    def fit(self, task):
        optimizer = task.configure_optimizers()
        for step in range(self.max_steps):
            optimizer.zero_grad()
            loss = task.training_step(self.batch())
            loss.backward()
            optimizer.step()
            del loss
            if (step + 1) % self.validate_every == 0:
                before = torch.cuda.memory_allocated()
                task.model.eval()
                task.validation_step(self.batch())
                task.model.train()
                self.left = torch.cuda.memory_allocated() - before
            truth.end_of_step()
        print('validation', task.validation_losses[-1].item())


trainer = MiniTrainer(max_steps=200, validate_every=5)
task = LitRegressor()
trainer.fit(task)
truth.declare_leaks(truth.leak('# leaks', trainer.left / 5))
