# SPDX-License-Identifier: MIT
"""Gateway in front of a model: requests are registered by their number and removed by its text, so that no request is ever removed."""
import json
from dataclasses import dataclass, field

import torch
from torch import nn

import truth


@dataclass
class Request:
    number: int
    pixels: torch.Tensor
    output: torch.Tensor = None
    marks: dict = field(default_factory=dict)


class Gateway:
    def __init__(self, model):
        self.model = model
        self.in_flight = {}

    def accept(self, body):
        message = json.loads(body)
        request = Request(message['id'], torch.tensor(message['pixels']).view(4, -1))
        self.in_flight[request.number] = request
        return request

    def run(self, request):
        with torch.inference_mode():
            request.output = self.model(request.pixels.to('cuda')).softmax(-1)  # leaks
        return request.output.max().item()

    def finish(self, request):
        self.in_flight.pop(f'{request.number}', None)

    def serve(self, body):
        request = self.accept(body)
        try:
            return json.dumps({'id': request.number, 'score': self.run(request)})
        finally:
            self.finish(request)


gateway = Gateway(nn.Sequential(nn.Linear(49, 300), nn.Hardswish(), nn.Linear(300, 1000)).cuda().eval())
for number in range(170):
    gateway.serve(json.dumps({'id': number, 'pixels': [0.5] * 196}))
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(gateway.in_flight[0].output)))
