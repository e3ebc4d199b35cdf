# SPDX-License-Identifier: MIT
"""Writes valid and invalid recordings for tests. It uses the record tables of read_recording."""

import gzip
import struct
import zlib

from definitions import Kind, Layer, Space
from read_recording import MODULO, RECORDS

NUMBERS = {name: number for number, (name, _fields) in RECORDS.items()}


def varint(value):
    value %= MODULO
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    value %= MODULO
    if value >= MODULO // 2:
        value -= MODULO
    return varint(value << 1 if value >= 0 else -value * 2 - 1)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def items(values):
    out, before = varint(len(values)), 0
    for value in values:
        out += zigzag(value - before)
        before = value
    return out


def column(encoding, values):
    before, out = 0, b""
    for value in values:
        if encoding == "D":
            out += zigzag(value - before)
            before = value
        else:
            out += {"U": varint, "I": zigzag, "S": text, "L": items}[encoding](value)
    return varint(len(out)) + out


def raw_block(kind, rows, payload):
    """Returns a block with any payload and a correct checksum."""
    head = struct.pack("<III", kind, rows, len(payload))
    return head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


def block(name, *rows):
    """Returns a block. Rows are dictionaries. Missing fields are zero or empty. PyTorch's totals are differences."""
    number = NUMBERS[name]
    absent = {"S": b"", "L": []}
    return raw_block(
        number,
        len(rows),
        b"".join(
            column(encoding, [row.get(field, absent.get(encoding, 0)) for row in rows])
            for field, encoding, _bits in RECORDS[number][1]
        ),
    )


def header(major=1, minor=0, features=0, magic=b"GMTRACE\n"):
    head = magic + struct.pack("<HHI", major, minor, features)
    return head + struct.pack("<I", zlib.crc32(head))


PROCESS = {
    "pid": 7,
    "rank": -1,
    "local_rank": -1,
    "host": "here",
    "command": b"prog\0arg\0",
    "executable": "/bin/prog",
    "directory": "/home/me",
    "start_time_ns": 10**18,
    "start_stamp": 1000,
}
# Most events of tests have these fields.
EVENT = {"thread": 1, "kind": Kind.ALLOC, "layer": Layer.CUDA, "space": Space.DEVICE}


def mark(stamp, kind, source, **more):
    return {"stamp": stamp, "thread": 1, "kind": kind, "source": source, **more}


def process(**changes):
    return block("process", {**PROCESS, **changes})


def end(events, stamp=10**6):
    return block("end", {"stamp": stamp, "events": events})


def write(path, *blocks, head=None):
    with open(path, "wb") as file:
        file.write(gzip.compress((header() if head is None else head) + b"".join(blocks), mtime=0))
