# SPDX-License-Identifier: MIT
"""A server copies each answer into pinned memory and keeps it until the client confirms, which no client does."""
import torch
from torch import nn

import truth


class Server:
    def __init__(self, model):
        self.model, self.unconfirmed = model.eval(), {}

    @torch.inference_mode()
    def answer(self, number, question):
        scores = self.model(question.cuda())
        self.unconfirmed[number] = scores.cpu().pin_memory()  # leaks
        return self.unconfirmed[number]

    def confirm(self, number):
        del self.unconfirmed[number]


server = Server(nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 512)).cuda())
for number in range(40):
    server.answer(number, torch.randn(8, 100))
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', server.unconfirmed[0].nbytes))
