# SPDX-License-Identifier: MIT
"""Question answering service that caches the embedding of each question by its text. A quarter of the questions are popular, all others are new."""
import hashlib
import itertools

import torch

import truth


class QuestionAnswering:
    def __init__(self):
        self.embedding = torch.nn.Embedding(997, 256).cuda()
        self.encoder = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, norm_first=True).cuda().eval()
        self.answers = torch.randn(2000, 256).cuda()
        self.cache = {}

    def encode(self, question):
        key = hashlib.sha1(question.encode()).hexdigest()
        if key not in self.cache:
            tokens = torch.tensor([[hash(word) % 997 for word in question.split()]]).cuda()
            hidden = self.encoder(self.embedding(tokens))
            self.cache[key] = hidden.mean(dim=1).expand(12, -1).contiguous()  # leaks
        return self.cache[key]

    @torch.no_grad()
    def ask(self, question):
        scores = self.encode(question) @ self.answers.T
        return int(scores.sum(0).argmax())


def questions():
    popular = itertools.cycle(['how do I reset my password', 'where is my parcel', 'what does shipping cost'])
    for number in itertools.count():
        yield next(popular) if number % 4 == 0 else f'what is the status of order {number} please'


service = QuestionAnswering()
for question in itertools.islice(questions(), 160):
    service.ask(question)
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', 12 * 256 * 4 * 3 / 4))
