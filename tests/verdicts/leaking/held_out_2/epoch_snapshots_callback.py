# SPDX-License-Identifier: MIT
"""Home-made callbacks: one keeps a copy of the weights of every epoch 'for averaging later'."""
import torch
from torch import nn
import truth


class Callback:
    def on_batch_end(self, loop): ...
    def on_epoch_end(self, loop): ...


class PrintLoss(Callback):
    def on_epoch_end(self, loop):
        print(f'epoch {loop.epoch}: {loop.loss.item():.4f}')


class KeepWeights(Callback):
    def __init__(self):
        self.kept = []

    def on_epoch_end(self, loop):
        self.kept.append(nn.utils.parameters_to_vector(loop.model.parameters()).detach())  # leaks


class Loop:
    def __init__(self, model, callbacks, epochs, batches):
        self.model, self.callbacks, self.epochs, self.batches = model, callbacks, epochs, batches
        self.optimizer = torch.optim.Adam(model.parameters())

    def fire(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def run(self):
        for self.epoch in range(self.epochs):
            for batch in range(self.batches):
                x = torch.randn(16, 50, device='cuda')
                self.optimizer.zero_grad()
                self.loss = (self.model(x) - x).abs().mean()
                self.loss.backward()
                self.optimizer.step()
                self.fire('on_batch_end')
                if batch == self.batches - 1:
                    self.fire('on_epoch_end')
                truth.end_of_step()


keep = KeepWeights()
Loop(nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 50)).cuda(), [PrintLoss(), keep], epochs=8, batches=15).run()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(keep.kept[0]) / 15, first_step=14))
