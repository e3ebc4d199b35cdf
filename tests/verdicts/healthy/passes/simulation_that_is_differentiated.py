# SPDX-License-Identifier: MIT
"""Keeps all states of a physical simulation for one backward pass through time, for each of three simulations."""
import torch

import truth


def simulate(push, steps):
    position, velocity = torch.zeros(256, 3, device='cuda'), torch.zeros(256, 3, device='cuda')
    states = []
    for _ in range(steps):
        force = push - 0.5 * velocity - position
        velocity = velocity + 0.01 * force
        position = position + 0.01 * velocity
        states.append(position)
        truth.end_of_step()
    return torch.stack(states)


def main():
    push = torch.zeros(256, 3, device='cuda', requires_grad=True)
    for _ in range(3):
        path = simulate(push, 24)
        (path[-1] - 1).square().mean().backward()
        with torch.no_grad():
            push -= 0.1 * push.grad
            push.grad = None
        del path


main()
truth.declare_no_leak()
