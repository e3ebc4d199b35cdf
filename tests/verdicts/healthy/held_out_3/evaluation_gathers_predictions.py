# SPDX-License-Identifier: MIT
"""Three epochs, each with an evaluation that gathers predictions and targets of all batches on the device, computes a metric and drops them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

import truth

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(1600, 40), torch.randint(0, 12, (1600,)))
train_set, test_set = random_split(dataset, [960, 640])


class Engine:
    def __init__(self, model):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.loss = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            self.optimizer.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(x)
            truth.end_of_step()
        return total / len(loader.dataset)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        predictions, targets = [], []
        for x, y in loader:
            predictions.append(self.model(x.cuda()).softmax(dim=-1))
            targets.append(y.cuda())
            truth.end_of_step()
        p, t = torch.cat(predictions), torch.cat(targets)
        top3 = (p.topk(3).indices == t[:, None]).any(1).float().mean()
        return {'top1': (p.argmax(1) == t).float().mean().item(), 'top3': top3.item()}


engine = Engine(nn.Sequential(nn.Linear(40, 96), nn.Dropout(0.2), nn.ReLU(), nn.Linear(96, 12)))
train_loader, test_loader = DataLoader(train_set, 32, shuffle=True), DataLoader(test_set, 16)
for epoch in range(3):
    print(epoch, f'{engine.train_epoch(train_loader):.3f}', engine.evaluate(test_loader))
truth.end_of_step()
truth.declare_no_leak()
