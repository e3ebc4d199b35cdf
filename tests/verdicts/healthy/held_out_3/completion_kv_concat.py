# SPDX-License-Identifier: MIT
"""Text completion: the keys and values of one completion grow with each token and are freed with it. Seven prompts, one after the other."""
import random

import torch
import torch.nn.functional as F
from torch import nn

import truth

random.seed(5)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, past):
        b, n, w = x.shape
        q, k, v = (part.view(b, n, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).split(w, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        return x + self.out(y.transpose(1, 2).reshape(b, n, w)), (k, v)


class LM(nn.Module):
    def __init__(self, vocabulary=400, width=128, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(depth))

    def forward(self, tokens, past):
        x, present = self.embed(tokens), []
        for block, old in zip(self.blocks, past):
            x, new = block(x, old)
            present.append(new)
        return x[:, -1] @ self.embed.weight.T, present


@torch.inference_mode()
def complete(model, prompt, new_tokens):
    past = [None] * len(model.blocks)
    tokens, out = prompt, []
    for _ in range(new_tokens):
        logits, past = model(tokens, past)
        tokens = logits.argmax(-1, keepdim=True)
        out.append(tokens)
        truth.end_of_step()
    return torch.cat(out, dim=1).tolist()


model = LM().cuda().eval()
for _ in range(7):
    prompt = torch.randint(0, 400, (1, random.randint(5, 30))).cuda()
    completion = complete(model, prompt, random.randint(18, 45))
    print(len(completion[0]), 'tokens')
del prompt
truth.end_of_step()
truth.declare_no_leak()
