# SPDX-License-Identifier: MIT
"""Federated learning: a round copies the model for each client, trains the copies, averages them and drops them."""
import copy
import random

import torch
from torch import nn

import truth

random.seed(77)


def local_training(model, data, epochs, momentum):
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=momentum)
    for _ in range(epochs):
        for batch in data:
            x = batch.cuda()
            loss = nn.functional.mse_loss(model(x), x.roll(1, dims=1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()
    return model.state_dict(), sum(len(batch) for batch in data)


def weighted_mean(results):
    total = sum(count for _, count in results)
    return {name: sum(weights[name] * (count / total) for weights, count in results) for name in results[0][0]}


clients = [[torch.randn(random.randint(8, 24), 55) for _ in range(random.randint(2, 4))] for _ in range(12)]
model = nn.Sequential(nn.Linear(55, 120), nn.SELU(), nn.Linear(120, 55)).cuda()
for round_number in range(14):
    results = [local_training(model, clients[number], epochs=1, momentum=0.9) for number in random.sample(range(12), 4)]
    model.load_state_dict(weighted_mean(results))
    del results
    truth.end_of_step()
truth.declare_no_leak()
