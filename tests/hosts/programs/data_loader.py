# SPDX-License-Identifier: MIT
"""Trains on batches that worker processes load into pinned memory: data_loader.py fork|spawn"""

import sys
import threading
import warnings

import torch
from torch.utils import data

torch.backends.cudnn.enabled = False
warnings.filterwarnings("ignore", message=".*cublasLt.*")

BATCHES, BATCH = 6, 8


class Numbers(data.Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, index):
        if index == 40:
            raise ValueError("a number that cannot be loaded")
        about = data.get_worker_info()
        # multiprocessing starts its own daemon threads at some moment between two batches.
        return torch.full((100,), float(index)), about.id, sum(not thread.daemon for thread in threading.enumerate())


def main():
    torch.manual_seed(1)
    loader = data.DataLoader(
        Numbers(), batch_size=BATCH, num_workers=2, pin_memory=True, multiprocessing_context=sys.argv[1]
    )
    weights = torch.ones(100, device="cuda")
    print(weights.shape, flush=True)
    try:
        for numbers, workers, threads in loader:
            there = numbers.to("cuda", non_blocking=True)
            print(there.cpu()[:, 0].tolist(), workers.tolist(), threads.tolist(), numbers.is_pinned())
    except ValueError as error:
        print(str(error).splitlines()[0], str(error).splitlines()[-1])
    print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved())
    print("loader done")


if __name__ == "__main__":
    main()
