# SPDX-License-Identifier: MIT
"""A server whose log holds each request and each response."""
import dataclasses
import time

import torch
from torch import nn

import truth


@dataclasses.dataclass
class Exchange:
    when: float
    request: torch.Tensor
    response: torch.Tensor


class Server:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 400)).eval().cuda()
        self.log = []

    @torch.inference_mode()
    def predict(self, payload):
        request = torch.tensor(payload, device='cuda').view(-1, 200)  # request leaks
        response = self.model(request)  # response leaks
        self.log.append(Exchange(time.time(), request, response))
        return response.argmax(dim=1).cpu()


server = Server()
for number in range(75):
    server.predict([float(i % 17) for i in range(8 * 200)])
    truth.end_of_step()
last = server.log[-1]
truth.declare_leaks(truth.leak('# request leaks', truth.size_of(last.request)),
                    truth.leak('# response leaks', truth.size_of(last.response)))
