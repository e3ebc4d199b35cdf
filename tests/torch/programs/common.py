# SPDX-License-Identifier: MIT
"""What the training scripts share: settings for the simulated device, and the counts at the end.

Each script ends with report(), whose JSON object is what a profiler's account of the run is compared
with. The scripts themselves know nothing of any profiler.
"""

import json
import os
import re
import sys
import time
import warnings

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'helpers'))

import tasks  # noqa: E402  (found by the line above)

# The simulated device has no answers of cuDNN's; and cublasLt's "not supported" is worth no warning.
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
    Where this is recorded: until the recorder has asked the device once more, from beginning to end. It does so a few times
    a second, on a busy machine more seldom, and while calls are made.
    """
    if 'gpumemtrace' not in os.environ.get('LD_PRELOAD', '') or \
            re.search("samples='?off", os.environ.get('GPUMEMTRACE_OPTIONS', '')):
        return
    tasks.wait_for_turn(tasks.wait_for(tasks.SAMPLER), meanwhile=torch.cuda.mem_get_info)


def quiet_moment():
    """A time, and the counts of then: nothing happened for a while before and after it, on threads of PyTorch's own either."""
    before = None
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

    The time in it lies in the middle of a quiet stretch: whatever happened before it belongs to the
    counts, and whatever comes after it does not.
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
    Whether a script that has done so many rounds does another one: `rounds` in all. COMMON_ROUNDS asks for another number, and
    COMMON_ASKS=1 for as many as the test says: behind these rounds the script asks the test before each further one.
    """
    if done < int(os.environ.get('COMMON_ROUNDS', rounds)):
        return True
    if 'COMMON_ASKS' not in os.environ:
        return False
    print(QUESTION, flush=True)
    return sys.stdin.readline() == MORE


def report_path(index=1):
    """The script's argument that names the report's file, or None."""
    return sys.argv[index] if len(sys.argv) > index else None
