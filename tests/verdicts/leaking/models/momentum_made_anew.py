# SPDX-License-Identifier: MIT
"""A trainer that restarts its momentum every four steps and keeps the schedulers, and by them the optimizers."""
import torch
from torch import nn

import truth


class RestartingTrainer:
    def __init__(self, model, restart_every):
        self.model, self.restart_every, self.schedulers = model, restart_every, []

    def restart(self):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.schedulers.append(torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.99))

    def fit(self, steps):
        for step in range(steps):
            if step % self.restart_every == 0:
                self.restart()
            self.optimizer.zero_grad()
            self.model(torch.randn(10, 128, device='cuda')).square().mean().backward()
            self.optimizer.step()  # leaks
            self.schedulers[-1].step()
            truth.end_of_step()


def main():
    model = nn.Linear(128, 64).cuda()
    trainer = RestartingTrainer(model, restart_every=4)
    trainer.fit(60)
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*model.parameters()) / 4))


main()
