# SPDX-License-Identifier: MIT
"""DQN with a replay memory of 48 transitions' chunks on the device, full after a quarter of the run, and a target network."""
import copy
import random
from collections import deque, namedtuple

import torch
from torch import nn
import truth

Chunk = namedtuple('Chunk', 'state action reward next_state')
random.seed(0)

q = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), lr=5e-4)
memory = deque(maxlen=48)
state = torch.zeros(32, 16, device='cuda')

for step in range(190):
    with torch.no_grad():
        greedy = q(state).argmax(1)
        action = torch.where(torch.rand(32, device='cuda') < 0.1, torch.randint(4, (32,), device='cuda'), greedy)
        next_state = 0.95 * state + torch.randn_like(state)
        reward = -next_state.abs().mean(1)
    memory.append(Chunk(state, action, reward, next_state))
    state = next_state

    batch = Chunk(*map(torch.cat, zip(*random.sample(memory, min(4, len(memory))))))
    wanted = batch.reward + 0.99 * target(batch.next_state).amax(1)
    loss = nn.functional.smooth_l1_loss(q(batch.state).gather(1, batch.action[:, None])[:, 0], wanted)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 0:
        target.load_state_dict(q.state_dict())
    truth.end_of_step()
truth.declare_no_leak()
