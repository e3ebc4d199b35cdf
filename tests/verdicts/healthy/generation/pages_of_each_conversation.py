# SPDX-License-Identifier: MIT
"""Gives a conversation a new page of keys and values every few tokens, and frees all of its pages when it is over."""
import torch
from torch import nn

import truth

PAGE, WIDTH = 4, 128


class Conversation:
    def __init__(self):
        self.pages = []
        self.length = 0

    def append(self, key_value):
        if self.length % PAGE == 0:
            self.pages.append(torch.empty(PAGE, 2 * WIDTH, device='cuda'))
        self.pages[-1][self.length % PAGE] = key_value
        self.length += 1

    def attend(self, query):
        keys, values = torch.cat(self.pages)[:self.length].chunk(2, dim=-1)
        return nn.functional.scaled_dot_product_attention(query[None], keys[None], values[None])[0]


def main():
    project = nn.Linear(WIDTH, 3 * WIDTH).cuda()
    open_conversations = {}
    ends = {0: 17, 1: 30, 2: 22, 3: 38, 4: 19, 5: 11, 6: 25}
    waiting = list(ends)
    state = torch.randn(1, WIDTH, device='cuda')
    with torch.no_grad():
        while waiting or open_conversations:
            while waiting and len(open_conversations) < 3:
                open_conversations[waiting.pop(0)] = Conversation()
            for name, conversation in list(open_conversations.items()):
                query, key_value = project(state).split([WIDTH, 2 * WIDTH], dim=-1)
                conversation.append(key_value[0])
                state = conversation.attend(query)
                if conversation.length == ends[name]:
                    del open_conversations[name]
            truth.end_of_step()


main()
truth.declare_no_leak()
