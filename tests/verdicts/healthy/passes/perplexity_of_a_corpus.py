# SPDX-License-Identifier: MIT
"""Scores a corpus in one pass with the loss of each token kept on the device, and reports the perplexity at the end."""
import torch
from torch import nn

import truth


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.mix = nn.GRU(width, width, batch_first=True)

    def forward(self, tokens):
        return self.head(self.mix(self.embed(tokens))[0])


@torch.no_grad()
def perplexity(model, corpus):
    losses = []
    for window in corpus.unfold(0, 65, 64):
        window = window[None].cuda()
        logits = model(window[:, :-1])
        losses.append(nn.functional.cross_entropy(logits[0], window[0, 1:], reduction='none'))
        truth.end_of_step()
    return torch.cat(losses).mean().exp().item()


lm = LanguageModel(150, 48).cuda().eval()
print(perplexity(lm, torch.randint(150, (64 * 55 + 1,))))
truth.declare_no_leak()
