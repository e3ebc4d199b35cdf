# SPDX-License-Identifier: MIT
"""Trains with LBFGS, which computes the loss several times in each step and keeps lists of directions."""

import torch

import held_truth

model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512)).cuda()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=4, history_size=3)
batch, wanted = torch.randn(256, 512, device='cuda'), torch.randn(256, 512, device='cuda')


def closure():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(batch), wanted)
    loss.backward()
    return loss


for step in range(20):
    optimizer.step(closure)
held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), inputs=[batch, wanted])
