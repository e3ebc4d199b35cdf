# SPDX-License-Identifier: MIT
"""Decodes with a GPT-2 of transformers, whose past_key_values grow during a request and are dropped at its end."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import truth


def complete(model, prompt, length):
    past, tokens = None, prompt.to('cuda')
    generated = []
    with torch.inference_mode():
        for _ in range(length):
            output = model(input_ids=tokens, past_key_values=past, use_cache=True)
            past, tokens = output.past_key_values, output.logits[:, -1:].argmax(-1)
            generated.append(tokens.cpu())
            truth.end_of_step()
    return torch.cat(generated, 1)


def main():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=4, n_positions=128)).cuda().eval()
    for length in (40, 12, 20):
        complete(model, torch.randint(500, (2, 6)), length)


main()
truth.declare_no_leak()
