# SPDX-License-Identifier: MIT
"""Beam search whose cache grows with each sentence and goes with it."""
import torch
from torch import nn

import truth

BEAMS, LENGTH, WIDTH = 4, 20, 128


class Generator(nn.Module):
    def __init__(self, vocabulary=200):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, WIDTH)
        self.kv = nn.Linear(WIDTH, 2 * WIDTH)
        self.out = nn.Linear(WIDTH, vocabulary)

    def forward(self, tokens, past):
        x = self.embed(tokens).unsqueeze(1)
        new = self.kv(x)
        past = new if past is None else torch.cat([past, new], dim=1)
        keys, values = past.chunk(2, dim=-1)
        return self.out(nn.functional.scaled_dot_product_attention(x, keys, values)).squeeze(1), past


@torch.no_grad()
def translate(model):
    tokens = torch.ones(BEAMS, dtype=torch.long, device='cuda')
    scores = torch.zeros(BEAMS, 1, device='cuda')
    past, history = None, []
    for _ in range(LENGTH):
        logits, past = model(tokens, past)
        total = (scores + logits.log_softmax(-1)).flatten()
        scores, chosen = total.topk(BEAMS)
        scores = scores.unsqueeze(1)
        order = torch.arange(BEAMS - 1, -1, -1, device='cuda')
        past = past.index_select(0, order)
        tokens = chosen % 200
        history.append(tokens)
        truth.end_of_step()
    return torch.stack(history, dim=1).cpu()


model = Generator().cuda().eval()
sentences = [translate(model) for _ in range(8)]
truth.declare_no_leak()
