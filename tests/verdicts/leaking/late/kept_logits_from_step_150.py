# SPDX-License-Identifier: MIT
"""A second phase of training, the last 50 of 200 steps, keeps each batch's logits for calibration."""
import torch
from torch import nn

import truth


class Phase:
    def __init__(self, model, rate, calibrate):
        self.model, self.calibrate, self.logits = model, calibrate, []
        self.optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    def run(self, steps):
        for _ in range(steps):
            logits = self.model(torch.randn(16, 12, device='cuda'))
            loss = nn.functional.cross_entropy(logits, torch.zeros(16, dtype=torch.long, device='cuda'))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if self.calibrate:
                self.logits.append(logits.detach().log_softmax(-1))  # leaks
            truth.end_of_step()


def main():
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 40)).cuda()
    pretraining, tuning = Phase(model, 0.1, False), Phase(model, 0.01, True)
    pretraining.run(150)
    tuning.run(50)
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(*tuning.logits) / 50, first_step=150))


main()
