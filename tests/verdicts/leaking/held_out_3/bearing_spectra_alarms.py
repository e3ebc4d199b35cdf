# SPDX-License-Identifier: MIT
"""Bearing monitor: a window of the last 24 spectra, and a list of those taken while the bearing was hot. Nobody reads that list again."""
from collections import deque

import torch
from torch import nn

import truth

torch.manual_seed(3)


class Filterbank(nn.Module):
    def __init__(self, samples=2048, bands=3000):
        super().__init__()
        self.project = nn.Linear(samples, bands, bias=False)

    def forward(self, signal):
        return self.project(signal).abs()  # leaks


class BearingMonitor:
    def __init__(self):
        self.bank = Filterbank().cuda().eval().requires_grad_(False)
        self.recent = deque(maxlen=24)
        self.hot = []

    def take(self, signal, celsius):
        spectrum = self.bank(signal.cuda())
        self.recent.append(spectrum)
        if celsius > 80:
            self.hot.append(spectrum)
        if len(self.recent) == self.recent.maxlen:
            baseline = torch.stack(tuple(self.recent)).median(dim=0).values
            return float((spectrum - baseline).max())
        return 0.0


monitor = BearingMonitor()
worst = 0.0
for minute in range(220):
    celsius = 60 + 25 * (minute % 5 == 2)
    worst = max(worst, monitor.take(torch.randn(2048), celsius))
    truth.end_of_step()
print(f'worst deviation {worst:.2f}, {len(monitor.hot)} hot minutes')
truth.declare_leaks(truth.leak('# leaks', truth.size_of(monitor.hot[0]) / 5))
