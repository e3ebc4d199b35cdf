# SPDX-License-Identifier: MIT
"""Makes the sequences longer every few steps, so that activations and the batch itself grow, but stay for one step only."""
import torch
from torch import nn

import truth


def main():
    model = nn.Sequential(nn.Embedding(300, 48), nn.TransformerEncoderLayer(48, 4, 96, batch_first=True), nn.Linear(48, 300)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(60):
        length = 8 + step
        tokens = torch.randint(300, (4, length + 1)).cuda()
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        truth.end_of_step()


main()
truth.declare_no_leak()
