# SPDX-License-Identifier: MIT
"""Chat server with pages of keys and values: a conversation takes a new page each eight tokens, and gives all of them back when it is over."""
import random

import torch
from torch import nn

import truth

PAGE, WIDTH = 8, 64
random.seed(17)


class Pages:
    def __init__(self):
        self.of = {}

    def slot(self, conversation, position):
        pages = self.of.setdefault(conversation, [])
        if position // PAGE == len(pages):
            pages.append(torch.empty(2, PAGE, WIDTH, device='cuda'))
        return pages[-1][:, position % PAGE]

    def all(self, conversation):
        return torch.cat(self.of[conversation], dim=1)

    def release(self, conversation):
        self.of.pop(conversation, None)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.qkv = nn.Embedding(200, WIDTH), nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, token, pages, conversation, position):
        q, k, v = self.qkv(self.embed(token)).split(WIDTH)
        pages.slot(conversation, position).copy_(torch.stack([k, v]))
        keys, values = pages.all(conversation)[:, :position + 1]
        return ((keys @ q).softmax(0) @ values).argmax()


class Chat:
    def __init__(self, number):
        self.number, self.position, self.length = number, 0, random.randint(20, 70)


pages, attention = Pages(), Attention().cuda().eval()
chats, numbers = [], iter(range(10 ** 6))
with torch.inference_mode():
    for tick in range(150):
        while len(chats) < 5:
            chats.append(Chat(next(numbers)))
        for chat in list(chats):
            attention(torch.randint(0, 200, ()).cuda(), pages, chat.number, chat.position)
            chat.position += 1
            if chat.position == chat.length:
                pages.release(chat.number)
                chats.remove(chat)
        truth.end_of_step()
for chat in chats:
    pages.release(chat.number)
truth.end_of_step()
truth.declare_no_leak()
