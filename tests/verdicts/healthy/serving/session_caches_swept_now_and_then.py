# SPDX-License-Identifier: MIT
"""Each session grows a cache of keys; a sweep every twenty-five requests removes the sessions that have ended."""
import random

import torch
from torch import nn

import truth

random.seed(7)
keys = nn.Linear(64, 64).cuda()
caches, ended = {}, set()
for request in range(80):
    user = f'user {request // 8 + random.randrange(3)}'
    with torch.inference_mode():
        new = keys(torch.randn(1, 64, device='cuda'))
        caches[user] = torch.cat([caches[user], new]) if user in caches else new
        score = torch.softmax(caches[user] @ new[0], 0).max().item()
    if request % 25 == 24:
        current = request // 8
        for name in [name for name in caches if int(name.split()[1]) < current]:
            del caches[name]
    truth.end_of_step()
truth.declare_no_leak()
