# SPDX-License-Identifier: MIT
"""A trainer whose meter sums up a second loss as a tensor that is never passed backward."""
import torch
from torch import nn

import truth


class Meter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value):
        self.sum += value
        self.count += 1


class StudentTrainer:
    def __init__(self, student, images):
        self.student, self.images = student, images
        self.optimizer = torch.optim.Adam(student.parameters(), lr=1e-4)
        self.consistency = Meter()

    def run(self, batches):
        for batch in self.images[:batches]:
            loss = self.student(batch).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.consistency.update(torch.exp(self.student.weight).amax())  # leaks
            truth.end_of_step()


trainer = StudentTrainer(nn.Linear(128, 96).to('cuda'), torch.rand(45, 8, 128, device='cuda'))
trainer.run(45)
truth.declare_leaks(truth.leak('# leaks'))
