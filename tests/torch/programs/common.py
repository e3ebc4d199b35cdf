# SPDX-License-Identifier: MIT
"""The training scripts share this module: settings for the simulated device, and the counts at the end.

Each script ends with report(). Tests compare its JSON object with the recording of the run.
The scripts themselves do not use any profiler.
"""

import json
import os
import re
import sys
import time
import warnings

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'helpers'))

import tasks

# The simulated device does not implement cuDNN. Its cublasLt answers "not supported", so PyTorch would warn.
torch.backends.cudnn.enabled = False
warnings.filterwarnings('ignore', message='.*cublasLt.*')

QUIET_SECONDS = 0.05
QUESTION, MORE, ENOUGH = 'more?', 'more\n', 'enough\n'


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


def wait_for_sample():
    """
    Waits until the recorder has taken one whole new sample of the device, if this process is recorded. The recorder takes a
    few samples a second while the program makes calls, and fewer on a busy machine.
    """
    if 'gpumemtrace' not in os.environ.get('LD_PRELOAD', '') or \
            re.search("samples='?off", os.environ.get('GPUMEMTRACE_OPTIONS', '')):
        return
    tasks.wait_for_turn(tasks.wait_for_thread(tasks.SAMPLER), meanwhile=torch.cuda.mem_get_info)


def quiet_moment():
    """Returns a time and PyTorch's counts at it. Nothing happens for a while around it, also in PyTorch's own threads."""
    before = time_ns = None
    while True:
        torch.cuda.synchronize()
        counts = [device_counts(device) for device in range(torch.cuda.device_count())]
        if counts == before:
            return time_ns, counts
        before = counts
        time.sleep(QUIET_SECONDS)
        time_ns = time.time_ns()
        time.sleep(QUIET_SECONDS)


def report(path=None, **more):
    """Writes PyTorch's own counts as JSON: to `path`, or as the last line of stdout.

    The time in the object lies in the middle of a quiet period. The counts include everything that
    happened before this time, and nothing that happened after it.
    """
    time_ns, devices = quiet_moment()
    counts = {
        'time_ns': time_ns,
        'devices': devices,
        **more,
    }
    text = json.dumps(counts)
    if path is None:
        print(text, flush=True)
    else:
        with open(path, 'w') as file:
            file.write(text + '\n')


def goes_on(done, rounds):
    """
    Returns whether the script does another round after `done` rounds: it does `rounds`, or as many as COMMON_ROUNDS says.
    With COMMON_ASKS=1, it then asks the test before each further round.
    """
    if done < int(os.environ.get('COMMON_ROUNDS', rounds)):
        return True
    if 'COMMON_ASKS' not in os.environ:
        return False
    print(QUESTION, flush=True)
    return sys.stdin.readline() == MORE


def report_path(index=1):
    """Returns the script's argument that names the report's file, or None."""
    return sys.argv[index] if len(sys.argv) > index else None
