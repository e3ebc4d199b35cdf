# SPDX-License-Identifier: MIT
"""A speech service feeds each chunk's hidden state into the next call, with gradients on."""
import torch
from torch import nn

import truth


class Streamer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(40, 64)
        self.output = nn.Linear(64, 30)

    def forward(self, frame, hidden):
        hidden = self.cell(frame, hidden)  # leaks
        return self.output(hidden).argmax(-1), hidden


def main():
    audio = torch.randn(50, 8, 40, device='cuda')
    model = Streamer().cuda().eval()
    hidden = torch.zeros(8, 64, device='cuda')
    for frame in audio:
        letters, hidden = model(frame, hidden)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks'))


main()
