# SPDX-License-Identifier: MIT
"""A chat whose history grows until the conversation ends; the last one is cut off in its middle."""
import torch
from torch import nn

import truth


class Chat:
    def __init__(self):
        self.model = nn.GRU(64, 256, batch_first=True).cuda().eval()
        self.history = []
        self.state = None

    @torch.inference_mode()
    def say(self, length):
        turn = torch.randn(1, length, 64, device='cuda')
        answer, self.state = self.model(turn, self.state)
        self.history.append((turn, answer))

    def reset(self):
        self.history.clear()
        self.state = None


lengths_of_conversations = [14, 30, 9, 22, 17, 28, 12]
chat = Chat()
for number, turns in enumerate(lengths_of_conversations):
    chat.reset()
    for turn in range(turns):
        chat.say(4 + (turn * 5) % 7)
        truth.end_of_step()
truth.declare_no_leak()
