# SPDX-License-Identifier: MIT
"""A trainer that collects the predictions of validation, epoch after epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import truth


class Trainer:
    def __init__(self, model, train, val):
        self.model, self.train_loader, self.val_loader = model.cuda(), train, val
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.predicted = []

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_loader:
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            truth.end_of_step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        for x, _ in self.val_loader:
            self.predicted.append(self.model(x.cuda()))  # leaks

    def fit(self, epochs):
        for _ in range(epochs):
            self.train_epoch()
            self.validate()


def loader(count, batch):
    return DataLoader(TensorDataset(torch.randn(count, 24), torch.randint(40, (count,))), batch_size=batch)


trainer = Trainer(nn.Sequential(nn.Linear(24, 48), nn.Dropout(0.1), nn.ReLU(), nn.Linear(48, 40)), loader(128, 16), loader(192, 64))
trainer.fit(15)
truth.declare_leaks(truth.leak('# leaks', truth.size_of(trainer.predicted[0])))
