# SPDX-License-Identifier: MIT
"""Makes ELF files that have headers and no code, for tests of their readers."""

import struct

from recorded_run import CLI

with open(CLI, "rb") as program:
    OWN_MACHINE = struct.unpack_from("<H", program.read(20), 18)[0]


def elf(machine=OWN_MACHINE, bits=64, interpreter=None, needed=(), order="<"):
    """Returns the headers of a program's file. The file has no code."""
    if bits == 32:
        ident = b"\x7fELF" + bytes([1, 1 if order == "<" else 2, 1]) + bytes(9)
        return ident + struct.pack(order + "HHI", 2, machine, 1) + bytes(100)
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    parts, at = [], 64 + 3 * 56
    path = interpreter.encode() + b"\0" if interpreter else b""
    entries, place = [], 1
    for name in needed:
        entries.append((1, place))
        place += len(name) + 1
    dynamic_at = at + len(path) + len(strings)
    entries += [(5, at + len(path)), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack(order + "QQ", *entry) for entry in entries)
    size = dynamic_at + len(dynamic)
    parts.append(struct.pack(order + "IIQQQQQQ", 1, 7, 0, 0, 0, size, size, 4096))
    parts.append(struct.pack(order + "IIQQQQQQ", 3 if path else 0, 4, at, at, at, len(path), len(path), 1))
    parts.append(
        struct.pack(
            order + "IIQQQQQQ", 2 if needed else 0, 6, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8
        )
    )
    ident = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]) + bytes(9)
    head = ident + struct.pack(order + "HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    return head + b"".join(parts) + path + strings + dynamic
