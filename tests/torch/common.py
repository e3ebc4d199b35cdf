# SPDX-License-Identifier: MIT
"""What the training scripts share: settings for the simulated device, and the counts at the end.

Each script ends with report(), whose JSON object is what a profiler's account of the run is compared
with. The scripts themselves know nothing of any profiler.
"""

import json
import sys
import time
import warnings

import torch

# The simulated device has no answers of cuDNN's; and cublasLt's "not supported" is worth no warning.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')

QUIET_SECONDS = 0.05


def device_counts(device):
    stats = torch.cuda.memory_stats(device)
    return {
        'device': device,
        'max_memory_allocated': torch.cuda.max_memory_allocated(device),
        'max_memory_reserved': torch.cuda.max_memory_reserved(device),
        'memory_allocated': torch.cuda.memory_allocated(device),
        'memory_reserved': torch.cuda.memory_reserved(device),
        'allocated_count': stats.get('allocation.all.allocated', 0),
        'freed_count': stats.get('allocation.all.freed', 0),
        'segment_count': stats.get('segment.all.allocated', 0),
    }


def report(path=None, **more):
    """Writes PyTorch's own counts as JSON: to `path`, or as the last line of stdout.

    The time in it lies in the middle of a quiet stretch: whatever happened before it belongs to the
    counts, and whatever comes after it does not.
    """
    torch.cuda.synchronize()
    time.sleep(QUIET_SECONDS)
    time_ns = time.time_ns()
    time.sleep(QUIET_SECONDS)
    counts = {
        'time_ns': time_ns,
        'devices': [device_counts(device) for device in range(torch.cuda.device_count())],
        **more,
    }
    text = json.dumps(counts)
    if path is None:
        print(text, flush=True)
    else:
        with open(path, 'w') as file:
            file.write(text + '\n')


def report_path(index=1):
    """The script's argument that names the report's file, or None."""
    return sys.argv[index] if len(sys.argv) > index else None
