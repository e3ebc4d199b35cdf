# SPDX-License-Identifier: MIT
"""Anomaly detector of a factory line: the history of all scores is one tensor that every window makes longer."""
import torch
import truth


class Autoencoder(torch.nn.Module):
    def __init__(self, channels=40, code=6):
        super().__init__()
        self.down = torch.nn.Linear(channels, code)
        self.up = torch.nn.Linear(code, channels)

    def forward(self, x):
        return self.up(torch.tanh(self.down(x)))


class Monitor:
    def __init__(self, model):
        self.model = model
        self.scores = None

    @torch.no_grad()
    def feed(self, window):
        window = window.to('cuda', non_blocking=True)
        score = (self.model(window) - window).square().mean(-1)
        if self.scores is None:
            self.scores = score
        else:
            self.scores = torch.cat([self.scores, score])  # leaks
        return (score > self.scores.mean() + 4 * self.scores.std()).any()


monitor = Monitor(Autoencoder().cuda().eval())
alarms = 0
for minute in range(140):
    alarms += bool(monitor.feed(torch.randn(1024, 40)))
    truth.end_of_step()
print(alarms, 'alarms')
truth.declare_leaks(truth.leak('# leaks', 1024 * 4, first_step=1))
