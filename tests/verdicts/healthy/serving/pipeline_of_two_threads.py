# SPDX-License-Identifier: MIT
"""One thread encodes on its stream, another decodes on a stream of its own; at most four encodings wait between them."""
import queue
import threading

import torch
from torch import nn

import truth

encoder, decoder = nn.Linear(120, 240).cuda(), nn.Linear(240, 12).cuda()
between = queue.Queue(maxsize=4)


def encode():
    with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
        for _ in range(50):
            hidden = encoder(torch.randn(40, 120).cuda()).relu()
            torch.cuda.current_stream().synchronize()
            between.put(hidden)
        between.put(None)


def decode():
    with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
        while (hidden := between.get()) is not None:
            decoder(hidden).argmax(1).cpu()
            truth.end_of_step()


threads = [threading.Thread(target=work) for work in (encode, decode)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth.declare_no_leak()
