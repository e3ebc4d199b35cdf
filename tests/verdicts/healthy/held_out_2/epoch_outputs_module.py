# SPDX-License-Identifier: MIT
"""Written after Lightning: training_step's outputs pile up during an epoch, and on_train_epoch_end reduces and clears them."""
import torch
from torch import nn

import truth


class LitClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 40))
        self.training_step_outputs = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch):
        x, y = batch
        logits = self(x)
        self.training_step_outputs.append({'logits': logits.detach(), 'target': y})
        return nn.functional.cross_entropy(logits, y)

    def on_train_epoch_end(self):
        logits = torch.cat([o['logits'] for o in self.training_step_outputs])
        target = torch.cat([o['target'] for o in self.training_step_outputs])
        print('train_acc', (logits.argmax(-1) == target).float().mean().item())
        self.training_step_outputs.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, module, batches):
        optimizer = module.configure_optimizers()
        for _ in range(self.max_epochs):
            for batch in batches():
                loss = module.training_step([part.to('cuda') for part in batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                truth.end_of_step()
            module.on_train_epoch_end()


def batches(count=32, size=128):
    for _ in range(count):
        yield torch.randn(size, 30), torch.randint(0, 40, (size,))


Trainer(max_epochs=4).fit(LitClassifier().to('cuda'), batches)
truth.declare_no_leak()
