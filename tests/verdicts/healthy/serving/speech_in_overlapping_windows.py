# SPDX-License-Identifier: MIT
"""Recognises speech in windows that overlap, and keeps only the half of the last window that the next one needs."""
import torch
from torch import nn

import truth


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Conv1d(1, 32, 50, stride=20)
        self.letters = nn.Linear(32, 30)

    def forward(self, samples):
        return self.letters(self.features(samples).relu().transpose(1, 2)).argmax(-1)


recognizer = Recognizer().cuda().eval()
carried = torch.zeros(1, 1, 800, device='cuda')
text = []
with torch.inference_mode():
    for second in range(50):
        window = torch.cat([carried, torch.randn(1, 1, 800).cuda()], dim=2)
        text.extend(recognizer(window)[0].tolist())
        carried = window[:, :, 800:].clone()
        truth.end_of_step()
truth.declare_no_leak()
