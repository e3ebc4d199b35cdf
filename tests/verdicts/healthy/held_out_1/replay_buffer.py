# SPDX-License-Identifier: MIT
"""Q-learning with a replay buffer that is full after two fifths of the run."""
import collections
import random

import torch
from torch import nn

import truth

Transition = collections.namedtuple('Transition', 'state action reward next_state')


def q_network():
    return nn.Sequential(nn.Linear(400, 48), nn.ReLU(), nn.Linear(48, 4)).to('cuda')


random.seed(11)
online, target = q_network(), q_network()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=5e-4)
buffer = collections.deque(maxlen=60)
state = torch.randn(400, device='cuda')
for step in range(150):
    next_state = torch.randn(400, device='cuda')
    buffer.append(Transition(state, random.randrange(4), random.gauss(0, 1), next_state))
    state = next_state
    sample = random.choices(buffer, k=16)
    states = torch.stack([item.state for item in sample])
    following = torch.stack([item.next_state for item in sample])
    actions = torch.tensor([item.action for item in sample], device='cuda').unsqueeze(1)
    rewards = torch.tensor([item.reward for item in sample], device='cuda')
    with torch.no_grad():
        wanted = rewards + 0.99 * target(following).max(dim=1).values
    loss = nn.functional.huber_loss(online(states).gather(1, actions).squeeze(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 24:
        target.load_state_dict(online.state_dict())
    truth.end_of_step()
truth.declare_no_leak()
