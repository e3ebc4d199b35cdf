# SPDX-License-Identifier: MIT
"""Captures a training step in a CUDA graph and replays it: graph_replay.py [REPORT]"""

import torch
from torch import nn

import common

REPLAYS = 10


def main():
    model = nn.Linear(512, 512).to('cuda')
    batch = torch.zeros(64, 512, device='cuda')

    def step():
        model.zero_grad(set_to_none=True)
        model(batch).sum().backward()

    warm_up = torch.cuda.Stream()
    warm_up.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm_up):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(warm_up)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(REPLAYS):
        graph.replay()
    common.report(common.report_path())


if __name__ == '__main__':
    main()
