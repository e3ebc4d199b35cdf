# SPDX-License-Identifier: MIT
"""An optimizer steps in one thread while another thread is inside the backward pass of its own model.

Prints the number of parameters of each of the two models.
"""

import json
import threading

import torch
from torch import nn

is_in_backward, may_go_on = threading.Event(), threading.Event()


class Pause(torch.autograd.Function):
    @staticmethod
    def forward(context, values):
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        is_in_backward.set()
        may_go_on.wait()
        return gradient


def train_model_with_pause(model):
    batch = torch.randn(8, 64, device='cuda')
    model(batch).sum().backward()
    model(Pause.apply(model(batch))).sum().backward()


stepped_model = nn.Linear(64, 64).cuda()
other_model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(stepped_model.parameters(), lr=0.1)
# Before the other thread: PyTorch has one thread for the backward passes of a device, and it will pause.
stepped_model(torch.randn(8, 64, device='cuda')).sum().backward()
thread = threading.Thread(target=train_model_with_pause, args=[other_model])
thread.start()
is_in_backward.wait()
optimizer.step()
may_go_on.set()
thread.join()
print(json.dumps([len(list(model.parameters())) for model in (stepped_model, other_model)]))
