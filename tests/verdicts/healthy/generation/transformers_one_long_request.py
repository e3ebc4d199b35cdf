# SPDX-License-Identifier: MIT
"""Lets a GPT-2 of transformers write seventy tokens in one request, with its cache, which goes with the output."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import truth

model = GPT2LMHeadModel(GPT2Config(vocab_size=400, n_embd=48, n_layer=2, n_head=2, n_positions=128)).cuda().eval()
tokens = torch.randint(400, (1, 5)).cuda()
past = None
text = tokens.cpu()
with torch.no_grad():
    for _ in range(70):
        output = model(tokens, past_key_values=past, use_cache=True)
        past = output.past_key_values
        tokens = output.logits[:, -1].argmax(-1, keepdim=True)
        text = torch.cat([text, tokens.cpu()], 1)
        truth.end_of_step()
del output, past
truth.declare_no_leak()
