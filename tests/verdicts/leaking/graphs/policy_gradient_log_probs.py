# SPDX-License-Identifier: MIT
"""REINFORCE never clears the log probabilities of past episodes."""
import torch
from torch import nn
from torch.distributions import Categorical

import truth


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(8, 4)
        self.log_probs, self.rewards = [], []

    def act(self, states):
        choice = Categorical(logits=self.affine(states), validate_args=False)
        actions = torch.randint(4, states.shape[:1], device=states.device)
        self.log_probs.append(choice.log_prob(actions))  # leaks
        self.rewards.append(1.0)
        return actions


policy = Policy().cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
episode_length = 5
for episode in range(40):
    for _ in range(episode_length):
        policy.act(torch.randn(256, 8, device='cuda'))
    loss = -sum(reward * log_prob.mean() for reward, log_prob in
                zip(policy.rewards[-episode_length:], policy.log_probs[-episode_length:]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(*policy.log_probs[:episode_length])))
