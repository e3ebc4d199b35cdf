# SPDX-License-Identifier: MIT
"""Makes recordings for tests of exports, runs `export`, and reads the numbers of reports to compare."""

import collections
import os

import cli
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource, Space
from recording import CUDA, MiB, Story

TRAIN, MODEL = "/home/me/train.py", "/home/me/model.py"
# Separators and commands of the formats, and bytes that are not UTF-8.
HOSTILE = b'a;b "c" \\d\n<e> \x1b[2J 1\xff\xc0 \xc3\xa9'


class Training(Story):
    """Two devices, two layers, host memory, steps, a phase, a leak, blocks in spaces of their own, hostile names."""

    def phase(self, name, begins):
        self.stamp += 10
        kind = MarkKind.PUSH if begins else MarkKind.POP
        fields = {"name": self.name(name)} if begins else {}
        self.marks.append(w.mark(self.stamp, kind, MarkSource.PROGRAM, **fields))


def training(name, steps=6):
    story = Training()
    segment = story.alloc(64 * MiB, f"{TRAIN}:4 in main", address=0x10_0000_0000, layer=CUDA)
    other = story.alloc(32 * MiB, f"{TRAIN}:4 in main", address=0x20_0000_0000, layer=CUDA, device=1)
    story.alloc(MiB, f"{TRAIN}:6 in main", layer=CUDA, space=Space.PINNED, device=-1)
    story.alloc(3 * MiB, f"{TRAIN}:7 in main", layer=CUDA, space=Space.POOL)
    story.alloc(2 * MiB, f"{TRAIN}:7 in main", layer=CUDA, space=Space.DEVICE)
    story.alloc(4 * MiB, f"{MODEL}:7 in build", f"{TRAIN}:8 in main", address=segment)
    story.alloc(2 * MiB, f"{MODEL}:9 in head", f"{TRAIN}:8 in main", address=other, device=1)
    story.alloc(512, address=segment + 60 * MiB)
    text = HOSTILE.decode("utf-8", "surrogateescape")
    story.alloc(1024, f"{text}:1 in {text}", address=segment + 61 * MiB)

    def body(number):
        story.phase("forward", True)
        block = story.alloc(
            (1 + number % 4) * MiB, f"{MODEL}:20 in forward", f"{TRAIN}:31 in main", address=segment + 8 * MiB
        )
        story.phase("forward", False)
        story.alloc(65536, f"{TRAIN}:33 in keep", f"{TRAIN}:31 in main", address=segment + 16 * MiB + number * 65536)
        story.free(block)
        if number == 3:
            story.event(Kind.ALLOC_FAILED, layer=CUDA, size_bytes=1 << 40, result=2)

    story.steps(steps, body)
    story.codes = {(raw(function), raw(file)): i for (function, file), i in story.codes.items()}
    return story.write(name)


def raw(text):
    return text.encode("utf-8", "surrogateescape")


def export(form, path, *options, code=0, output="-"):
    """Returns the bytes of an export."""
    done = cli.run("export", "--format", form, "-o", output, *options, path, text=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done.stdout


def accounts(path, *options):
    """Returns the report's row of each layer and device (None: the host) that has allocations."""
    found = {}
    report = cli.report(path, *options)
    for device in report["devices"]:
        for layer in device["layers"]:
            found[layer["layer"], device["device"]] = layer
    found["cuda", None] = report["host"]
    return {key: one for key, one in found.items() if one["alloc_count"]}


def device_name(device):
    return "host memory" if device is None else f"GPU {device}"


def stretch(path, *options):
    report = cli.report(path, *options)
    return {(one["layer"], one["device"]): one for one in report["accounts"]}


def folded(data):
    """Reads folded stacks, the format of flame graphs. Returns {device: {stack: number}}."""
    found = collections.defaultdict(dict)
    for line in data.decode("utf-8").splitlines():
        stack, _, number = line.rpartition(" ")
        device, _, frames = stack.partition(";")
        assert frames not in found[device], line
        found[device][frames] = int(number)
    return found


__all__ = ["HOSTILE", "MiB", "Layer", "accounts", "device_name", "export", "folded", "os", "stretch", "training"]
