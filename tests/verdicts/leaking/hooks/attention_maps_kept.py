# SPDX-License-Identifier: MIT
"""Keeps the attention weights of each batch for a picture, under autocast with a scaler of gradients."""
import torch
from torch import nn

import truth


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.maps = []

    def forward(self, x):
        attended, weights = self.attention(x, x, x, need_weights=True)  # leaks
        self.maps.append(weights.detach())
        return self.norm(x + attended)


def main():
    model = nn.Sequential(Block(32, 4), nn.Linear(32, 32)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler('cuda')
    for _ in range(30):
        x = torch.randn(4, 24, 32, device='cuda')
        with torch.autocast('cuda', dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(model[0].maps[0])))


main()
