# SPDX-License-Identifier: MIT
"""
Reads and writes recordings whose gzip members have descriptions, which a later member's header contains.

The author used docs/internals/recording-format.md, section 9, alone.
"""

import struct
import zlib

import read_recording
import write_recording as w

MEMBER_HEAD = bytes((0x1F, 0x8B, 8, 4, 0, 0, 0, 0))  # of a gzip member with an extra field
EXTRA_HEAD = b"GM" + struct.pack("<H", 72)  # of the extra field with a description
NO_STAMP = 2**64 - 1
EXTRA_OFFSET = 12  # after the head, the compression speed, the system and the length of the extra field


def split(data):
    """Yields each gzip member of `data` as (its bytes, its uncompressed content)."""
    while data:
        member = zlib.decompressobj(wbits=31)
        content = member.decompress(data)
        length = len(data) - len(member.unused_data)
        yield data[:length], content
        data = data[length:]


def bit(number):
    return 1 << min(number, 63)


def describe(rows):
    """Returns the description of rows: smallest and largest stamp, bits of kinds and devices, and the last clock."""
    stamps = [row["stamp"] for row in rows if "stamp" in row]
    kinds = devices = 0
    for row in rows:
        kinds |= bit(w.NUMBERS[row["record"]])
        devices |= bit(row["device"] + 2) if "device" in row else 0
    clock = [(row["stamp"], row["monotonic_ns"], row["realtime_ns"]) for row in rows if row["record"] == "clock"]
    return (min(stamps, default=NO_STAMP), max(stamps, default=0), kinds, devices, *(clock[-1] if clock else (0, 0, 0)))


def read(path):
    """Yields the rows of each member, and its description in the next member's header (as from `describe`), or None."""
    with open(path, "rb") as file:
        parts = list(split(file.read()))
    for index, (part, content) in enumerate(parts):
        start = content if index == 0 else w.header() + content
        rows = [row for table in read_recording.read_blocks(start, True) for row in table]
        found_description = None
        next_part = parts[index + 1][0] if index + 1 < len(parts) else b""
        if next_part[:8] == MEMBER_HEAD and next_part[EXTRA_OFFSET : EXTRA_OFFSET + 4] == EXTRA_HEAD:
            crc, length, size, *description = struct.unpack_from("<IIQ7Q", next_part, EXTRA_OFFSET + 4)
            if (crc, length, size) == (*struct.unpack("<II", part[-8:]), len(part)):
                found_description = tuple(description)
        yield rows, found_description


def member(content, extra=None, level=-1):
    """Returns a gzip member with `extra` in its header."""
    deflate = zlib.compressobj(level, wbits=-15)
    head = MEMBER_HEAD[:3] + bytes((4 if extra else 0,)) + MEMBER_HEAD[4:] + bytes((4, 3))
    if extra:
        head += struct.pack("<H", len(extra)) + extra
    return head + deflate.compress(content) + deflate.flush() + struct.pack("<II", zlib.crc32(content), len(content))


def extra_of(part, description):
    """Returns the extra field that describes the member `part`. The next member's header contains it."""
    return EXTRA_HEAD + part[-8:] + struct.pack("<Q7Q", len(part), *description)


def write(path, *groups, description_of=describe):
    """Writes a file with one member for each group of blocks. All members except the last one have a description."""
    data, extra = b"", None
    for index, blocks in enumerate(groups):
        content = (w.header() if index == 0 else b"") + b"".join(blocks)
        part = member(content, extra)
        rows = [row for table in read_recording.read_blocks(w.header() + b"".join(blocks), True) for row in table]
        extra = extra_of(part, description_of(rows))
        data += part
    with open(path, "wb") as file:
        file.write(data)
