# SPDX-License-Identifier: MIT
"""Cross validation with early stopping: the best weights of a fold replace one another; each fold has its own model, which its end frees."""
import copy
import random

import torch
from torch import nn

import truth

random.seed(41)


def make_model():
    return nn.Sequential(nn.Linear(60, 140), nn.CELU(), nn.Linear(140, 140), nn.CELU(), nn.Linear(140, 1)).cuda()


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.weights = patience, float('inf'), 0, None

    def update(self, score, model):
        if score < self.best:
            self.best, self.bad = score, 0
            self.weights = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def score_after(epoch):
    """Stands for the score on the fold that was left out: falls, then wavers."""
    return 1 / (epoch + 1) + 0.08 * random.random()


def train_fold(x, y, epochs=16):
    model, stopping = make_model(), EarlyStopping(patience=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            rows = rows.cuda()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()
        if stopping.update(score_after(epoch), model):
            break
    model.load_state_dict(stopping.weights)
    return stopping.best, epoch


x, y = torch.randn(320, 60, device='cuda'), torch.randn(320, 1, device='cuda')
for fold in range(4):
    kept = torch.cat([part for number, part in enumerate(x.chunk(4)) if number != fold])
    labels = torch.cat([part for number, part in enumerate(y.chunk(4)) if number != fold])
    best, epochs = train_fold(kept, labels)
    print(f'fold {fold}: {best:.3f} after {epochs} epochs')
    del kept, labels
truth.end_of_step()
truth.declare_no_leak()
