# SPDX-License-Identifier: MIT
"""Dialogue model that holds a recurrent state for each user who has ever written; users come, write a few times, and never return."""
import itertools

import torch
from torch import nn

import truth


class Bot(nn.Module):
    def __init__(self, vocabulary=500, hidden=256, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, hidden)
        self.rnn = nn.GRU(hidden, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, words, state=None):
        out, state = self.rnn(self.embed(words), state)
        return self.head(out[:, -1]).argmax(-1), torch.stack([state.squeeze(1), torch.tanh(state.squeeze(1))])  # leaks


class Dialogue:
    def __init__(self):
        self.bot = Bot().cuda().eval()
        self.users = {}

    def say(self, user, words):
        before = self.users.get(user)
        with torch.no_grad():
            word, self.users[user] = self.bot(words.cuda(), None if before is None else before[0].unsqueeze(1))
        return int(word)


def visitors():
    """Each writes four times."""
    for name in itertools.count():
        yield from [f'user-{name}'] * 4


dialogue = Dialogue()
for user, _ in zip(visitors(), range(160)):
    dialogue.say(user, torch.randint(0, 500, (1, 9)))
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(dialogue.users['user-0']) / 4))
