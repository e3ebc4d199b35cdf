# SPDX-License-Identifier: MIT
"""Streaming speech recognizer. The mask of a chunk is cached without a limit, by its length and its absolute position, which never comes back."""
import functools

import torch
from torch import nn

import truth

CHUNK, LEFT = 32, 96


@functools.lru_cache(maxsize=None)
def chunk_mask(length, position, device):
    queries = torch.arange(position, position + length, device=device)
    keys = torch.arange(position - LEFT, position + length, device=device)
    return (keys[None, :] <= queries[:, None]).float().log()  # leaks


class Recognizer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.front = nn.Linear(80, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, 30)

    def forward(self, frames, memory, position):
        x = self.front(frames)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        k, v = torch.cat([memory[0], k]), torch.cat([memory[1], v])
        scores = q @ k.T / 8 + chunk_mask(len(q), position, str(q.device))
        return self.out(scores.softmax(-1) @ v), (k[-LEFT:].clone(), v[-LEFT:].clone())


recognizer = Recognizer().cuda().eval()
memory = torch.zeros(LEFT, 64, device='cuda'), torch.zeros(LEFT, 64, device='cuda')
text = []
with torch.no_grad():
    for number in range(180):
        letters, memory = recognizer(torch.randn(CHUNK, 80).cuda(), memory, number * CHUNK)
        text.append(int(letters.argmax(-1)[0]))
        truth.end_of_step()
print(len(text), 'letters,', chunk_mask.cache_info())
truth.declare_leaks(truth.leak('# leaks', CHUNK * (LEFT + CHUNK) * 4))
