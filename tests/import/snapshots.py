# SPDX-License-Identifier: MIT
"""Memory snapshots as PyTorch writes them, and what `import` makes of them."""

import json
import os
import pickle

import cli
import exports

MiB = 1 << 20
BASE = 0x7F00_0000_0000
START_US = 1_700_000_000_000_000


def frame(name, filename="/home/me/train.py", line=1):
    return {"name": name, "filename": filename, "line": line}


MAIN = frame("main", line=90)
BUILD = [frame("build", line=5), MAIN]
STEP = [frame("at::empty(int)", "??", 0), frame("step", line=31), MAIN]


class Snapshot:
    """A snapshot of one or several GPUs. The caller states events and segments as PyTorch would."""

    def __init__(self, devices=1):
        self.traces = [[] for _ in range(devices)]
        self.segments, self.settings, self.time_us = [], {}, START_US

    def event(self, action, address, size, frames=(), device=0, **more):
        self.time_us += 10
        where = {"device_free": address} if action == "oom" else {"addr": address}
        self.traces[device].append(
            {"action": action, **where, "size": size, "stream": 0, "time_us": self.time_us, "frames": frames, **more}
        )

    def free(self, address, size, frames=(), **more):
        self.event("free_requested", address, size, frames, **more)
        self.event("free_completed", address, size, frames, **more)

    def segment(self, address, blocks, device=0, size=20 * MiB, **more):
        """Adds a segment. A block is (offset, size, frames) or (offset, size, frames, state)."""
        rows = [
            {
                "address": address + offset,
                "size": bytes_,
                "requested_size": bytes_,
                "state": (*rest, "active_allocated")[0],
                "frames": frames,
            }
            for offset, bytes_, frames, *rest in blocks
        ]
        self.segments.append(
            {
                "device": device,
                "address": address,
                "total_size": size,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": BUILD,
                "blocks": rows,
                **more,
            }
        )

    def value(self):
        return {"segments": self.segments, "device_traces": self.traces, "allocator_settings": self.settings}

    def write(self, name="snapshot.pickle", protocol=4):
        return write(name, pickle.dumps(self.value(), protocol))


def write(name, data):
    path = cli.place(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def imported(path, *words):
    """Imports a file and returns the path of the recording."""
    out = cli.place(os.path.basename(path) + ".gmt.gz")
    done = cli.run("import", "--force", "-o", out, *words, path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"wrote {out}\n", done.stdout
    return out


def refusal(path):
    """Returns the one line by which `import` refuses a file, without the program's and the file's name."""
    out = cli.place("refused.gmt.gz")
    done = cli.run("import", "--force", "-o", out, path)
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert not os.path.exists(out)
    (line,) = done.stderr.splitlines()
    start = f"gpumemtrace: error: {path}: "
    assert line.startswith(start), line
    return line[len(start) :]


def numbers(path, layer="torch"):
    """Returns the numbers of a layer for each GPU."""
    names = "live_bytes live_blocks peak_bytes peak_blocks alloc_count free_count total_alloc_bytes".split()
    return {
        device: {name: account[name] for name in names}
        for (of, device), account in exports.accounts(path).items()
        if of == layer
    }


def notes(path):
    return cli.report(path)["remarks"]


def dump(path, kind):
    done = cli.run("dump", "--json", f"--record={kind}", path)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
