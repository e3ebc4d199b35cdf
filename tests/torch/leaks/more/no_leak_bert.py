# SPDX-License-Identifier: MIT
"""Evaluates a small BERT every fifth step: no_leak_bert.py [STEPS]"""

import torch
from transformers import BertConfig, BertForSequenceClassification

import common


def main():
    steps = common.no_leak_steps(30)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=64)).to('cuda')
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    calls = 0
    for step in range(steps):
        tokens = torch.zeros(4, 32, dtype=torch.long, device='cuda')
        labels = torch.zeros(4, dtype=torch.long, device='cuda')
        model(input_ids=tokens, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 4:
            with torch.no_grad():
                for _ in range(4):
                    model(input_ids=torch.zeros(32, 32, dtype=torch.long, device='cuda')).logits.cpu()
                    calls += 1
    common.report([], optimizer_steps=steps, forward_calls=calls)


if __name__ == '__main__':
    main()
