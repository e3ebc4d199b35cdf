# SPDX-License-Identifier: MIT
"""Backpropagation through pieces of a long text; the state is cut off between them."""
import torch
from torch import nn

import truth


class CharModel(nn.Module):
    def __init__(self, vocabulary=80, width=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.LSTMCell(width, width)
        self.out = nn.Linear(width, vocabulary)

    def forward(self, letters, state):
        h, c = self.cell(self.embed(letters), state)
        return self.out(h), (h, c)


text = torch.randint(80, (16, 801))
model = CharModel().cuda()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
state = (torch.zeros(16, 64, device='cuda'), torch.zeros(16, 64, device='cuda'))
for start in range(0, 800, 10):
    piece = text[:, start:start + 11].cuda()
    state = tuple(part.detach() for part in state)
    loss = 0
    for position in range(10):
        logits, state = model(piece[:, position], state)
        loss = loss + nn.functional.cross_entropy(logits, piece[:, position + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
