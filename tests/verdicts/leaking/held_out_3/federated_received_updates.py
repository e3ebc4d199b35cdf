# SPDX-License-Identifier: MIT
"""Federated averaging: the coordinator appends the updates of all clients to one list, and averages those of the newest round."""
import copy

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import truth

CLIENTS, LOCAL_STEPS, ROUNDS = 3, 4, 18


class Client:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def train(self, model):
        model = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(LOCAL_STEPS):
            x = torch.randn(20, 25, generator=self.generator).cuda()
            loss = nn.functional.l1_loss(model(x), x[:, :5])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.end_of_step()
        with torch.no_grad():
            return parameters_to_vector(model.parameters())  # leaks


class Coordinator:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(25, 90), nn.Mish(), nn.Linear(90, 5)).cuda()
        self.clients = [Client(seed) for seed in range(CLIENTS)]
        self.received = []

    def round(self):
        for client in self.clients:
            self.received.append(client.train(self.model))
        vector_to_parameters(torch.stack(self.received[-CLIENTS:]).mean(0), self.model.parameters())


coordinator = Coordinator()
for _ in range(ROUNDS):
    coordinator.round()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(coordinator.received[0]) / LOCAL_STEPS))
