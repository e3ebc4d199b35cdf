# SPDX-License-Identifier: MIT
"""Tokenises and scores a corpus in one pass with perplexities kept on the device, and reports their mean when it is through."""
import torch
from torch import nn

import truth


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed, self.mix, self.head = nn.Embedding(vocabulary, width), nn.GRU(width, width, batch_first=True), nn.Linear(width, vocabulary)

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
truth.tell()
