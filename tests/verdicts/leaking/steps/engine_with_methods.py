# SPDX-License-Identifier: MIT
"""An engine whose stages are methods with expressions of several lines. Its statistics keep a tensor of each batch."""
import torch

import truth


class Engine:
    def __init__(self):
        self.table = torch.randn(100, 32, device='cuda')
        self.mix = torch.randn(32, 32, device='cuda')
        self.statistics = {}

    def load(self, number):
        return torch.randint(0, 100, (16,)).cuda()

    def embed(self, tokens):
        return self.table[tokens]

    def process(self, number):
        tokens = self.load(number)
        state = (
            self.embed(tokens).mean(0)
            + torch.tanh(
                self.embed(tokens).sum(0) @ self.mix
            )
        )
        self.statistics[number] = state.std()  # leaks
        return state.cpu()


engine = Engine()
for number in range(45):
    engine.process(number)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(engine.statistics[0])), steps_must_match=True)
