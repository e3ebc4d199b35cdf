# SPDX-License-Identifier: MIT
"""Metrics as functions to be called later, which keep the scores of their steps."""
import torch
import torch.nn as nn

import truth

deferred = []


def train_step(model, optimizer, x, y, wants_metrics):
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scores = logits.detach().softmax(dim=-1)  # leaks

    def confidence():
        return scores.max(dim=-1).values.mean().item()

    if wants_metrics:
        deferred.append(confidence)
    return loss.item()


def main():
    model = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    running = 0.0
    for step in range(90):
        x = torch.randn(4, 32, device='cuda')
        y = torch.randint(1000, (4,), device='cuda')
        running = 0.9 * running + 0.1 * train_step(model, optimizer, x, y, step % 3 == 0)
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(torch.empty(4, 1000)) / 3))


if __name__ == '__main__':
    main()
