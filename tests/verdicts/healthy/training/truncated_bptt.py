# SPDX-License-Identifier: MIT
"""Carries the hidden state from chunk to chunk of a long text and detaches it, so that a graph is as long as one chunk."""
import torch
from torch import nn

import truth


class CharRNN(nn.Module):
    def __init__(self, characters=80, width=64):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, characters)

    def forward(self, text, state):
        output, state = self.rnn(self.embed(text), state)
        return self.out(output), state


model = CharRNN().cuda()
optimizer = torch.optim.Adam(model.parameters())
corpus = torch.randint(80, (8, 30 * 16 + 1))
state = None
for start in range(0, 30 * 16, 16):
    text, following = corpus[:, start:start + 16].cuda(), corpus[:, start + 1:start + 17].cuda()
    if state is not None:
        state = tuple(part.detach() for part in state)
    logits, state = model(text, state)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    truth.end_of_step()
truth.declare_no_leak()
