# SPDX-License-Identifier: MIT
"""Stores the teacher's logits of each batch in the first epoch and reuses them in the two that follow."""
import torch
from torch import nn

import truth


class Distiller:
    def __init__(self, teacher, student):
        self.teacher, self.student = teacher, student
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
        self.logits = {}

    def teacher_logits(self, number, batch):
        if number not in self.logits:
            with torch.no_grad():
                self.logits[number] = self.teacher(batch)
        return self.logits[number]

    def step(self, number, batch):
        loss = nn.functional.mse_loss(self.student(batch), self.teacher_logits(number, batch))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    distiller = Distiller(nn.Linear(64, 100).cuda(), nn.Sequential(nn.Linear(64, 8), nn.Linear(8, 100)).cuda())
    batches = [torch.randn(16, 64) for _ in range(22)]
    for epoch in range(3):
        for number, batch in enumerate(batches):
            distiller.step(number, batch.cuda())
            truth.end_of_step()


main()
truth.declare_no_leak()
