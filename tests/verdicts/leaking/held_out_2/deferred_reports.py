# SPDX-License-Identifier: MIT
"""Training loop with an event system: each step subscribes a closure for the end of training, and the closure holds the step's prediction."""
import torch

import truth


class Events:
    def __init__(self):
        self.listeners = {}

    def on(self, name, listener):
        self.listeners.setdefault(name, []).append(listener)

    def fire(self, name):
        return [listener() for listener in self.listeners.get(name, ())]


class Trainer:
    def __init__(self, model, events):
        self.model, self.events = model, events
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def fit_batch(self, index, x, y):
        self.optimizer.zero_grad()
        prediction = self.model(x)
        error = torch.nn.functional.huber_loss(prediction, y)
        error.backward()
        self.optimizer.step()
        best = prediction.detach().sort(dim=1, descending=True).values[:, :3].clone()  # leaks

        def report():
            return index, best.mean().item()
        if index >= 4:   # the first ones are noise
            self.events.on('finished', report)
        return error.detach()


def main():
    events = Events()
    model = torch.nn.Sequential(torch.nn.Linear(20, 80), torch.nn.SiLU(), torch.nn.Linear(80, 50)).cuda()
    trainer = Trainer(model, events)
    x, y = torch.randn(600, 20, device='cuda'), torch.randn(600, 50, device='cuda')
    for index in range(70):
        trainer.fit_batch(index, x, y)
        truth.end_of_step()
    print(max(events.fire('finished')))
    truth.declare_leaks(truth.leak('# leaks', first_step=4))


main()
