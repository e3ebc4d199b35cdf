# SPDX-License-Identifier: MIT
"""Trains a small GPT-2 of Hugging Face's transformers, from random weights: gpt2.py [REPORT]"""

import torch
import transformers

import common

STEPS = 5
BATCH, LENGTH = 4, 64


def main():
    transformers.logging.set_verbosity_error()
    config = transformers.GPT2Config(n_layer=4, n_head=4, n_embd=128, n_positions=128, vocab_size=1000,
                                     bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config).to('cuda').train()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        tokens = torch.zeros(BATCH, LENGTH, dtype=torch.long, device='cuda')
        loss = model(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    common.report(common.report_path())


if __name__ == '__main__':
    main()
