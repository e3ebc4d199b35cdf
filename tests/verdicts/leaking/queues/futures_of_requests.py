# SPDX-License-Identifier: MIT
"""A thread pool serves requests, and the list of its futures keeps every result."""
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

import truth

model = nn.Sequential(nn.Conv1d(1, 4, 5), nn.ReLU(), nn.Conv1d(4, 2, 5)).to('cuda').eval()


def enhance(samples):
    with torch.inference_mode():
        audio = torch.from_numpy(samples.numpy()).to('cuda')
        return model(audio)  # leaks


def main():
    futures = []
    with ThreadPoolExecutor(max_workers=1) as pool:
        for _ in range(40):
            futures.append(pool.submit(enhance, torch.randn(2, 1, 400)))
            futures[-1].result()
            truth.end_of_step()
    truth.declare_leaks(truth.leak('# leaks', truth.size_of(futures[0].result())))


main()
