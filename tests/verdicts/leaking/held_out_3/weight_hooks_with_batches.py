# SPDX-License-Identifier: MIT
"""A hook on the weight of the head, registered again in each step and never removed, holds the features of that step."""
import torch
from torch import nn

import truth


class Influence:
    """Notes which features moved the head most."""

    def __init__(self):
        self.score = None

    def __call__(self, grad, features):
        self.score = (features.abs().mean(0) * grad.abs().mean(0)).sum()


class Classifier(nn.Module):
    def __init__(self, influence):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(50, 120), nn.ReLU(), nn.Linear(120, 70))
        self.head = nn.Linear(70, 9)
        self.influence = influence

    def forward(self, x):
        features = torch.tanh(self.body(x))  # leaks
        if self.training:
            held = features.detach()
            self.head.weight.register_hook(lambda grad: self.influence(grad, held) if grad is not None else None)
        return self.head(features)


influence = Influence()
model = Classifier(influence).cuda()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for step in range(90):
    x, y = torch.randn(60, 50), torch.randint(0, 9, (60,))
    loss = nn.functional.nll_loss(model(x.cuda()).log_softmax(1), y.cuda())
    model.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(torch.empty(60, 70))))
