# SPDX-License-Identifier: MIT
"""PPO-like training whose transitions refer to each other both ways: only the collector, which is on, frees their tensors, in batches."""
import torch
from torch import nn

import truth


class Transition:
    def __init__(self, rollout, observation, previous=None):
        self.rollout, self.observation = rollout, observation
        self.info = {'transition': self, 'tags': ['x']}
        self.previous, self.following = previous, None
        if previous is not None:
            previous.following = self


class Rollout:
    def __init__(self, actor, length):
        self.steps = []
        noise = torch.randn(length, 24, device='cuda')
        for row in noise:
            self.steps.append(Transition(self, row, self.steps[-1] if self.steps else None))

    def observations(self):
        return torch.stack([t.observation for t in self.steps])


actor = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 8)).to('cuda')
critic = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 1)).to('cuda')
optimizer = torch.optim.Adam([{'params': actor.parameters(), 'lr': 3e-4}, {'params': critic.parameters(), 'lr': 1e-3}])
for update in range(160):
    obs = Rollout(actor, length=64).observations()
    dist = torch.distributions.Categorical(logits=actor(obs), validate_args=False)
    action = torch.zeros(64, dtype=torch.long, device='cuda')
    value = critic(obs).squeeze(-1)
    ratio = (dist.log_prob(action) - dist.log_prob(action).detach()).exp()
    advantage = (1.0 - value).detach()
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() + 0.5 * (1.0 - value).square().mean() - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
