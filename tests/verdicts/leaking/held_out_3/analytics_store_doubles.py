# SPDX-License-Identifier: MIT
"""Search service that appends the embedding of each query to a store for analytics. The store doubles when it is full, and is never emptied."""
import torch

import truth


class Store:
    def __init__(self, width, capacity=64):
        self.rows = torch.empty(capacity, width, device='cuda')
        self.used = 0

    def extend(self, vectors):
        need = self.used + len(vectors)
        if need > len(self.rows):
            rows = torch.empty(2 * len(self.rows), self.rows.shape[1], device='cuda')  # leaks
            rows[:self.used] = self.rows[:self.used]
            self.rows = rows
        self.rows[self.used:need] = vectors
        self.used = need


class Search:
    def __init__(self, documents=4000, width=128):
        self.encoder = torch.nn.EmbeddingBag(5000, width).cuda().eval()
        self.index = torch.randn(documents, width).cuda()
        self.queries = Store(width)

    @torch.inference_mode()
    def handle(self, batch):
        vectors = self.encoder(batch.cuda())
        self.queries.extend(vectors)
        return (vectors @ self.index.T).topk(10).indices.tolist()


search = Search()
for second in range(250):
    search.handle(torch.randint(0, 5000, (16, 7)))
    truth.end_of_step()
truth.declare_leaks(truth.leak('# leaks', truth.size_of(search.queries.rows) / 250, sizes='doubling'))
