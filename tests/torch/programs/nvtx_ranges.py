# SPDX-License-Identifier: MIT
"""Sets ranges and marks with torch.cuda.nvtx, and prints what the calls returned, as JSON."""
import json
import threading

import torch

from torch.cuda import nvtx

import common  # noqa: F401 (settings for the simulated device)


def main():
    before = nvtx.range_push("before")
    first = nvtx.range_start("any thread")
    values = torch.ones(1 << 20, device="cuda")
    with nvtx.range("step {}", 1):
        values = values * 2
        nvtx.mark("moment")
        inner = nvtx.range_push("inner")
        left = nvtx.range_pop()
    thread = threading.Thread(target=nvtx.range_end, args=(first,))
    thread.start()
    thread.join()
    with torch.autograd.profiler.emit_nvtx():
        values + values
    last = nvtx.range_pop()
    print(json.dumps({"before": before, "inner": inner, "left": left, "last": last, "first": first}))


if __name__ == "__main__":
    main()
