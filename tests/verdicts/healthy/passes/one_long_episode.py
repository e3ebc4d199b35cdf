# SPDX-License-Identifier: MIT
"""Plays one long episode and keeps log probabilities and values with their graphs until the update after it."""
import torch
from torch import nn

import truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(10, 128), nn.Linear(128, 4), nn.Linear(128, 1)

    def forward(self, state):
        hidden = torch.relu(self.body(state))
        return self.actor(hidden).log_softmax(-1), self.critic(hidden)


def play(model, length):
    log_probabilities, values = [], []
    for _ in range(length):
        scores, value = model(torch.randn(1, 10, device='cuda'))
        log_probabilities.append(scores[:, scores.argmax() % 4])
        values.append(value[0])
        truth.end_of_step()
    return torch.cat(log_probabilities), torch.cat(values)


def main():
    model = ActorCritic().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    log_probabilities, values = play(model, 65)
    loss = -(log_probabilities * values.detach()).mean() + (values - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


main()
truth.declare_no_leak()
