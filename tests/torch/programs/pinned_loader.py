# SPDX-License-Identifier: MIT
"""Loads batches with worker processes into pinned memory: pinned_loader.py [REPORT]"""

import torch
from torch.utils import data

import common

BATCHES, BATCH = 8, 16


class Numbers(data.Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, index):
        return torch.full((1000,), float(index))


def main():
    loader = data.DataLoader(Numbers(), batch_size=BATCH, num_workers=2, pin_memory=True)
    total = 0
    for batch in loader:
        assert batch.is_pinned()
        # Copies work in both directions on the simulated device. Only kernels do nothing.
        total += float(batch.to('cuda', non_blocking=True).cpu()[:, 0].sum())
    assert total == sum(range(BATCHES * BATCH)), total
    common.report(common.report_path())


if __name__ == '__main__':
    main()
