# SPDX-License-Identifier: MIT
"""Fills the device until it is out of memory, then goes on: oom.py [REPORT]

SIMCUDA_MEMORY sets the size of the simulated device.
"""

import torch

import common

BLOCK_BYTES = 64 << 20


def main():
    blocks = []
    failures = 0
    message = ''
    while failures == 0:
        try:
            blocks.append(torch.empty(BLOCK_BYTES, dtype=torch.uint8, device='cuda'))
        except torch.OutOfMemoryError as error:
            failures += 1
            message = str(error)
    held = len(blocks)
    # Freed memory is available again in other sizes after the cache has returned it.
    del blocks[held // 2:]
    torch.cuda.empty_cache()
    blocks.append(torch.empty(BLOCK_BYTES + (1 << 20), dtype=torch.uint8, device='cuda'))
    common.report(common.report_path(), failures=failures, blocks_held=held, message=message)


if __name__ == '__main__':
    main()
