# SPDX-License-Identifier: MIT
"""Curriculum: the sequences grow longer until step 72 and the batches with them; from then on the size is the same."""
import torch
from torch import nn
import truth


def curriculum(steps):
    for step in range(steps):
        stage = min(step // 12, 6)
        yield 16 + 16 * stage, 4 + stage


def sample(length, batch):
    """Copy task: a random sequence, its reverse is wanted."""
    sequence = torch.randint(1, 32, (batch, length)).to('cuda')
    return sequence, sequence.flip(1)


class Copier(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.token, self.place = nn.Embedding(32, d), nn.Embedding(256, d)
        self.query, self.value = nn.Linear(d, d), nn.Linear(d, d)
        self.head = nn.Linear(d, 32)

    def forward(self, s):
        x = self.token(s) + self.place(torch.arange(s.shape[1], device=s.device))
        return self.head((self.query(x) @ x.mT / 8).softmax(-1) @ self.value(x))


copier = Copier().cuda()
adam = torch.optim.Adam(copier.parameters(), lr=1e-3)
for length, batch in curriculum(150):
    source, wanted = sample(length, batch)
    scores = copier(source)
    loss = nn.functional.cross_entropy(scores.transpose(1, 2), wanted)
    adam.zero_grad()
    loss.backward()
    adam.step()
    truth.end_of_step()
truth.declare_no_leak()
