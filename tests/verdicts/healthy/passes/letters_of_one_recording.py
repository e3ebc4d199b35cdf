# SPDX-License-Identifier: MIT
"""Collects the letter probabilities of all windows of one recording on the device, decodes them at the end, and returns text."""
import torch
from torch import nn

import truth


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.front, self.recurrent, self.letters = nn.Linear(80, 64), nn.GRU(64, 64, batch_first=True), nn.Linear(64, 32)

    def forward(self, window, state):
        hidden, state = self.recurrent(self.front(window).relu(), state)
        return self.letters(hidden).log_softmax(-1), state


@torch.no_grad()
def transcribe(model, windows):
    emissions, state = [], None
    for _ in range(windows):
        emission, state = model(torch.randn(1, 25, 80).cuda(), state)
        emissions.append(emission)
        truth.end_of_step()
    best = torch.cat(emissions, 1).argmax(-1)[0].tolist()
    return ''.join(chr(97 + letter % 26) for letter in best)


def main():
    print(len(transcribe(Acoustic().cuda().eval(), 60)))


if __name__ == '__main__':
    main()
    truth.declare_no_leak()
