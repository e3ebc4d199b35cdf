# SPDX-License-Identifier: MIT
"""Carries a hidden state on with its whole history: rnn_hidden.py [leak|repaired] [STEPS]

The recurrent part is pretrained and frozen, so the optimizer changes no weight that the history needs.
The script trains the embedding before it and the head behind it. `retain_graph` then hides the only error
that would have revealed the leak.
"""

import torch
from torch import nn

import common

BATCH, CHUNK, WIDTH, WORDS = 16, 4, 64, 100


def main():
    leak, steps = common.arguments()
    embedding = nn.Embedding(WORDS, WIDTH).to('cuda')
    recurrent = nn.GRU(WIDTH, WIDTH).to('cuda').requires_grad_(False)
    head = nn.Linear(WIDTH, WORDS).to('cuda')
    optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    text = torch.zeros(CHUNK, BATCH, dtype=torch.long, device='cuda')
    hidden = torch.zeros(1, BATCH, WIDTH, device='cuda')
    allocated = []
    for _ in range(steps):
        states, hidden = recurrent(embedding(text), hidden if leak else hidden.detach())  # leaks here
        loss = nn.functional.cross_entropy(head(states).view(-1, WORDS), text.view(-1))
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        allocated.append(torch.cuda.memory_allocated())
    common.report(allocated, expected_line=common.marked_line('# leaks here'))


if __name__ == '__main__':
    main()
