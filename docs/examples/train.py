# SPDX-License-Identifier: MIT
"""Trains a small language model for some steps. The README shows the report of this program.

The program does not use gpumemtrace. It has a mistake of many training scripts: see the line that keeps
the loss of every step.
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 8000, 256, 8, 6, 128, 16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1 = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.norm_2 = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        h = self.norm_1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.narrow(F.gelu(self.wide(self.norm_2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def load_batch(device):
    tokens = torch.zeros(BATCH, LENGTH + 1, dtype=torch.long, pin_memory=True)
    return tokens.to(device, non_blocking=True)


def training_step(model, optimizer, tokens):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def main(steps):
    device = torch.device("cuda")
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for step in range(steps):
        loss = training_step(model, optimizer, load_batch(device))
        losses.append(loss)  # keeps each loss on the GPU; loss.item() would not
    print(f"{steps} steps, {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB at the peak")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
