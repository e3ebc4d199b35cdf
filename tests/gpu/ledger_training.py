# SPDX-License-Identifier: MIT
"""ledger_training.py REPORT: trains a little, holds some blocks, and reports the figures of PyTorch and the driver.

PYTORCH_CUDA_ALLOC_CONF selects PyTorch's allocator.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "torch", "programs"))

import torch

import common
import convnet

STEPS = 5
QUIET_SECONDS = 0.8  # the recorder queries the device a few times per second


def main():
    convnet.train(steps=STEPS)
    held = [torch.empty(mib << 20, dtype=torch.uint8, device="cuda") for mib in (300, 70, 1, 90, 3)]
    del held[1::2]
    torch.cuda.synchronize()
    time.sleep(QUIET_SECONDS / 2)
    common.wait_for_sample()
    free, total = torch.cuda.mem_get_info(0)
    time.sleep(QUIET_SECONDS / 2)
    common.report(common.report_path(), driver={"used": total - free, "total": total}, blocks=len(held))


if __name__ == "__main__":
    main()
