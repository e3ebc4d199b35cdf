# SPDX-License-Identifier: MIT
"""Generates a melody and forgets no_grad: the state carries the graph of all notes before."""
import torch
import torch.nn as nn

import truth


def melody(cell, head):
    state = torch.zeros(12, 96, device='cuda')
    while True:
        state = cell(torch.randn(12, 24, device='cuda'), state)  # leaks
        with torch.no_grad():
            pitch = head(state).argmax(dim=-1)
        yield pitch


torch.manual_seed(440)
voices = nn.GRUCell(24, 96).cuda()
to_pitch = nn.Linear(96, 88).cuda()
voices.eval(), to_pitch.eval()
song = []
player = melody(voices, to_pitch)
for _ in range(130):
    song.append(next(player).tolist())
    truth.end_of_step()
print(len(song), 'chords, e.g.', song[0][:4])
truth.declare_leaks(truth.leak('# leaks'))
