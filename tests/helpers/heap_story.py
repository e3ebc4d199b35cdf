# SPDX-License-Identifier: MIT
"""Writes recordings of programs that declare custom heaps."""

import gzip

import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource, Space
from recording import CUDA, Story

HEAP, HEAP_HOST = Space.HEAP, Space.HEAP_HOST
ALLOC, FREE, DESTROY, RESET, RESIZE = Kind.ALLOC, Kind.FREE, Kind.DESTROY, Kind.RESET, Kind.RESIZE
KiB, MiB = 1 << 10, 1 << 20
STEP, KEEP, OPEN = "/home/me/serve.py:31 in step", "/home/me/serve.py:32 in keep", "/home/me/serve.py:9 in open_pool"


class HeapStory(Story):
    """A program that declares custom heaps and makes blocks in them."""

    def __init__(self):
        super().__init__()
        self.names = []

    def heap(self, number, name, address=0, size_bytes=0, space=HEAP, device=0):
        if name is not None:
            self.names.append(name)
            self.marks.append(
                w.mark(self.stamp, MarkKind.HEAP, MarkSource.PROGRAM, name=len(self.names), object=number)
            )
        self.heap_event(Kind.CREATE, number, address, size_bytes, OPEN, space=space, device=device)

    def heap_event(self, kind, number, address=0, size_bytes=0, line=None, space=HEAP, device=0):
        self.event(
            kind,
            layer=Layer.CUSTOM,
            space=space,
            device=device,
            object=number,
            address=address,
            size_bytes=size_bytes,
            frames=self.stack(line) if line else 0,
        )

    def write(self, name, ends=True):
        """Writes the same file as Story, with the names of the heaps at its beginning."""
        place = super().write(name, ends)
        with gzip.open(place) as file:
            whole, head = file.read(), len(w.header())
        names = w.block("name", *({"id": i + 1, "text": text} for i, text in enumerate(self.names)))
        w.write(place, names if self.names else b"", whole[head:], head=whole[:head])
        return place


def serve(leak=64 * KiB):
    """
    Declares three heaps: one of 32 MiB in CUDA's memory, in which each of 20 steps keeps `leak` bytes, one in host
    memory, and one without a name.
    """
    story = HeapStory()
    story.alloc(32 * MiB, OPEN, address=0x10_0000_0000, layer=CUDA)
    story.heap(1, "caches", 0x10_0000_0000, 32 * MiB)
    story.heap(2, "staging", 0x5000, MiB, space=HEAP_HOST, device=-1)
    story.heap(3, None)
    story.heap_event(ALLOC, 2, 0x5000, 5000, OPEN, space=HEAP_HOST, device=-1)
    story.heap_event(ALLOC, 3, 0x10_0000_0000, 100, OPEN)

    def body(number):
        story.heap_event(ALLOC, 1, 0x10_0100_0000, MiB, STEP)
        if leak:
            story.heap_event(ALLOC, 1, 0x10_0000_0000 + number * leak, leak, KEEP)
        story.heap_event(FREE, 1, 0x10_0100_0000)

    story.steps(20, body)
    return story
