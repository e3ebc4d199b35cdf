# SPDX-License-Identifier: MIT
"""Data assimilation with a learned drift, online: the state is never detached, so the graph goes back to the first observation."""
import torch

import truth

torch.manual_seed(11)
drift = torch.randn(96, 96, device='cuda', requires_grad=True)
gain = torch.full((96,), 0.1, device='cuda', requires_grad=True)


def advance(state, observation, dt=0.02):
    return state + dt * torch.tanh(state @ drift) + gain * (observation - state)  # leaks


def observations(count):
    for _ in range(count):
        yield torch.randn(20, 96)


state = torch.zeros(20, 96, device='cuda')
error = 0.0
for number, observed in enumerate(observations(150)):
    state = advance(state, observed.cuda())
    if number % 30 == 0:
        error = state.abs().mean().item()
    truth.end_of_step()
print(error)
truth.declare_leaks(truth.leak('# leaks'))
