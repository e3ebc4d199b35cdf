# SPDX-License-Identifier: MIT
"""A recommender's states of users in an LRU cache, whose evicted entries partly wait for a write that never comes."""
from collections import OrderedDict

import torch
from torch import nn

import truth

CAPACITY = 20


class UserStates:
    def __init__(self):
        self.entries = OrderedDict()
        self.to_write = []

    def put(self, user, state):
        self.entries[user] = state
        self.entries.move_to_end(user)
        while len(self.entries) > CAPACITY:
            oldest, evicted = self.entries.popitem(last=False)
            if oldest % 4 == 0:
                self.to_write.append((oldest, evicted))


tower = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 1024)).to('cuda').eval()
states = UserStates()
with torch.inference_mode():
    for user in range(140):
        clicks = torch.rand(2, 128, device='cuda')
        state = tower(clicks)  # leaks
        states.put(user, state)
        truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(state) / 4))
