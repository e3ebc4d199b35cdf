# SPDX-License-Identifier: MIT
"""Embedding service whose request log, meant for /debug/last, keeps every response of the service."""
import dataclasses
import queue
import threading
import time

import torch
import truth


@dataclasses.dataclass
class Request:
    number: int
    tokens: torch.Tensor
    done: threading.Event = dataclasses.field(default_factory=threading.Event)
    response: torch.Tensor | None = None
    took: float = 0.0


class Service(threading.Thread):
    def __init__(self, model):
        super().__init__(daemon=True)
        self.model, self.inbox, self.log = model, queue.Queue(), []

    @torch.inference_mode()
    def run(self):
        while (request := self.inbox.get()) is not None:
            began = time.perf_counter()
            request.response = self.model(request.tokens.to('cuda'))  # leaks
            request.took = time.perf_counter() - began
            self.log.append(request)
            request.done.set()
            del request

    def ask(self, request):
        self.inbox.put(request)
        request.done.wait()
        return request.response.float().norm(dim=-1).tolist()


model = torch.nn.Sequential(torch.nn.EmbeddingBag(2000, 96), torch.nn.Linear(96, 128), torch.nn.LayerNorm(128)).cuda().eval()
service = Service(model)
service.start()
for number in range(90):
    service.ask(Request(number, torch.randint(0, 2000, (32, 20))))
    truth.end_of_step()
service.inbox.put(None)
service.join()
print('slowest', max(r.took for r in service.log))
truth.declare_leaks(truth.leak('# leaks'))
