# SPDX-License-Identifier: MIT
"""A policy that acts for a rollout, learns from it in two passes and forgets it."""
import torch
from torch import nn
from torch.distributions import Categorical

import truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(48, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, state):
        hidden = self.shared(state)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


def rollout(policy, length):
    memory = {'states': [], 'actions': [], 'log_probs': [], 'returns': []}
    for _ in range(length):
        state = torch.randn(8, 48, device='cuda')
        with torch.no_grad():
            logits, _ = policy(state)
        chance = Categorical(logits=logits, validate_args=False)
        action = torch.randint(5, (8,), device='cuda')
        memory['states'].append(state)
        memory['actions'].append(action)
        memory['log_probs'].append(chance.log_prob(action))
        memory['returns'].append(torch.rand(8, device='cuda'))
    return {name: torch.cat(items) for name, items in memory.items()}


policy = ActorCritic().cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, eps=1e-5)
for update in range(30):
    data = rollout(policy, length=6 + update % 3)
    for _ in range(2):
        logits, values = policy(data['states'])
        ratio = (Categorical(logits=logits, validate_args=False).log_prob(data['actions']) - data['log_probs']).exp()
        advantage = data['returns'] - values.detach()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() + (data['returns'] - values).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()
truth.declare_no_leak()
