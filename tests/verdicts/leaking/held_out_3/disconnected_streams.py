# SPDX-License-Identifier: MIT
"""Streaming text server: a stream that ends removes its session. A client that hangs up, each fourth one, leaves its session behind."""
import torch
from torch import nn

import truth


class Disconnected(Exception):
    pass


class Decoder(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(300, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, 300)

    def forward(self, token, past):
        q, k, v = self.qkv(self.embed(token)).chunk(3, -1)
        now = torch.stack([k, v])
        past = now if past is None else torch.cat([past, now], dim=1)  # leaks
        weights = (q @ past[0].T).softmax(-1)
        return self.head(weights @ past[1]), past


class Server:
    def __init__(self):
        self.decoder = Decoder().cuda().eval()
        self.sessions = {}

    def open(self, number):
        self.sessions[number] = {'past': None, 'token': torch.zeros(1, dtype=torch.long, device='cuda')}

    @torch.no_grad()
    def stream(self, number, tokens):
        session = self.sessions[number]
        for _ in range(tokens):
            logits, session['past'] = self.decoder(session['token'], session['past'])
            session['token'] = logits.argmax(-1).fill_(1)  # leaks too
            yield session['token'].item()
        del self.sessions[number]


class Client:
    def __init__(self, patience):
        self.patience = patience

    def send(self, position):
        if position >= self.patience:
            raise Disconnected(position)


server = Server()
lost = 0
for number in range(96):
    client = Client(patience=16 if number % 4 == 1 else 1000)
    server.open(number)
    try:
        for position, token in enumerate(server.stream(number, 20)):
            client.send(position)
    except Disconnected:
        lost += 1
    truth.end_of_step()
print(lost, 'clients lost')
left = server.sessions[1]
truth.declare_leaks(truth.leak('# leaks', truth.size_of(left['past']) / 4), truth.leak('# leaks too', truth.size_of(left['token']) / 4))
