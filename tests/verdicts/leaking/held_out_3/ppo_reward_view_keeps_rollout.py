# SPDX-License-Identifier: MIT
"""PPO keeps the last six rollouts. Every third iteration also stores the rewards for a plot, as a view that keeps the whole rollout."""
import collections

import torch
import torch.nn.functional as F

import truth

OBSERVATIONS, ACTIONS, HORIZON = 30, 4, 64

actor = torch.nn.Sequential(torch.nn.Linear(OBSERVATIONS, 64), torch.nn.Tanh(), torch.nn.Linear(64, ACTIONS)).cuda()
critic = torch.nn.Sequential(torch.nn.Linear(OBSERVATIONS, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)).cuda()
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4)

rollouts = collections.deque(maxlen=6)
plotted = []


def environment():
    """Returns a rollout. A row is one moment: its observations, action, reward and log probability."""
    return torch.randn(HORIZON, OBSERVATIONS + 3)


# %% train
for iteration in range(150):
    rollout = environment().to('cuda')  # leaks
    rollouts.append(rollout)
    if iteration % 3 == 0:
        plotted.append(rollout[:, OBSERVATIONS + 1])

    batch = torch.cat(list(rollouts))
    seen, rewards, old = batch[:, :OBSERVATIONS], batch[:, OBSERVATIONS + 1], batch[:, OBSERVATIONS + 2]
    values = critic(seen).squeeze(-1)
    advantage = (rewards - values).detach()
    ratio = (actor(seen).log_softmax(-1)[:, 0] - old).exp()
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() + F.smooth_l1_loss(values, rewards)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    del batch, seen, rewards, old, values, advantage, ratio, loss
    truth.end_of_step()

print(len(plotted), 'rewards to plot')
truth.declare_leaks(truth.leak('# leaks', truth.size_of(plotted[0]) / 3))
