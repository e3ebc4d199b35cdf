# SPDX-License-Identifier: MIT
"""Keeps the cache over the turns of a chat, so that it grows until the user leaves; then the session is dropped."""
import torch
from torch import nn

import truth


class ChatModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(256, 64)
        self.keys, self.values = nn.Linear(64, 64), nn.Linear(64, 64)
        self.head = nn.Linear(64, 256)

    def forward(self, tokens, cache):
        x = self.embed(tokens)
        keys, values = self.keys(x), self.values(x)
        if cache is not None:
            keys, values = torch.cat([cache[0], keys], 1), torch.cat([cache[1], values], 1)
        x = nn.functional.scaled_dot_product_attention(x, keys, values)
        return self.head(x[:, -1:]).argmax(-1), (keys, values)


class Session:
    def __init__(self, model):
        self.model, self.cache = model, None

    @torch.no_grad()
    def say(self, message, reply_length):
        tokens = torch.tensor([list(message.encode())], device='cuda')
        reply = bytearray()
        for _ in range(reply_length):
            tokens, self.cache = self.model(tokens, self.cache)
            reply.append(tokens.item() % 256)
        return bytes(reply)


def main():
    model = ChatModel().cuda()
    for turns in (25, 8, 35):
        session = Session(model)
        for turn in range(turns):
            session.say(f'And what about question number {turn}?', 4)
            truth.end_of_step()


main()
truth.declare_no_leak()
