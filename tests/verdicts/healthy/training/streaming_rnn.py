# SPDX-License-Identifier: MIT
"""Listens to a stream in chunks and carries only the last state over, until the speaker pauses and the state is reset."""
import torch
from torch import nn

import truth


class Listener:
    def __init__(self):
        self.rnn = nn.GRU(40, 96, num_layers=2).cuda().eval()
        self.state = None

    @torch.no_grad()
    def hear(self, chunk):
        output, self.state = self.rnn(chunk.cuda(), self.state)
        return output[-1].argmax(-1).tolist()

    def reset(self):
        self.state = None


def main():
    listener = Listener()
    for chunk in range(60):
        listener.hear(torch.randn(10 + chunk % 7, 1, 40))
        if chunk % 13 == 12:
            listener.reset()
        truth.end_of_step()


main()
truth.declare_no_leak()
