# SPDX-License-Identifier: MIT
"""Generates tokens with a functional attention for requests of different lengths; caches of keys end with their request."""
import torch

import truth

q, k, v = (torch.randn(32, 32, device='cuda') for _ in range(3))


def generate(prompt, count):
    keys, values, state = [], [], prompt.cuda()
    for _ in range(count):
        keys.append(state @ k)
        values.append(state @ v)
        weights = ((state @ q) @ torch.cat(keys).T).softmax(-1)
        state = state + weights @ torch.cat(values)
    return state.argmax().item()


for request in range(24):
    generate(torch.randn(1, 32), 5 + request * 7 % 11)
    truth.end_of_step()
truth.declare_no_leak(steps_must_match=True)
