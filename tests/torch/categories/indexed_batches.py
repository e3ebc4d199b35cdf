# SPDX-License-Identifier: MIT
"""Trains on batches that an index selects from a table on the GPU. It indexes the results too."""

import torch

import held_truth

table = torch.randn(8192, 1024, device='cuda')
labels = torch.randint(0, 10, (8192,), device='cuda')
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(8):
    optimizer.zero_grad()
    rows = torch.arange(step * 1024, (step + 1) * 1024, device='cuda')
    batch, wanted = table[rows], labels[rows]
    results = model(batch)
    best = results[results.argmax(1) == wanted]
    loss = torch.nn.functional.cross_entropy(results, wanted)
    loss.backward()
    optimizer.step()
held_truth.declare(**held_truth.tensors_of_optimizers(optimizer), inputs=[table, labels, rows, batch, wanted])
