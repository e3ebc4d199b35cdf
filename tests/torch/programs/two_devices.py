# SPDX-License-Identifier: MIT
"""Trains on two devices and copies between them: two_devices.py [REPORT]

On the simulated device, needs SIMCUDA_DEVICES=2.
"""

import sys

import torch

import common
import convnet

STEPS = 5


def main():
    if torch.cuda.device_count() < 2:
        sys.exit('two_devices.py: needs two devices; the simulated ones come with SIMCUDA_DEVICES=2')
    convnet.train('cuda:0', STEPS)
    kept = convnet.train('cuda:1', STEPS)
    block = torch.empty(3_000_000, dtype=torch.uint8, device='cuda:0')
    other = block.to('cuda:1')
    assert other.device.index == 1 and next(kept.parameters()).device.index == 1
    common.report(common.report_path())


if __name__ == '__main__':
    main()
