# SPDX-License-Identifier: MIT
"""Reads recordings. Its author used docs/internals/recording-format.md and its pages, and no code of src/.

read_recording.py FILE        prints what `gpumemtrace dump --json FILE` prints
"""

import json
import struct
import sys
import zlib

# number: (name, ((field, encoding, bits), ...)); 0 bits for S
RECORDS = {
    1: (
        "process",
        (
            ("pid", "U", 32),
            ("parent_pid", "U", 32),
            ("rank", "I", 32),
            ("local_rank", "I", 32),
            ("start_time_ns", "U", 64),
            ("start_stamp", "U", 64),
            ("host", "S", 0),
            ("executable", "S", 0),
            ("command", "S", 0),
            ("directory", "S", 0),
            ("recorder_version", "S", 0),
            ("machine", "S", 0),
            ("recording", "S", 0),
            ("run", "S", 0),
            ("imported_from", "S", 0),
        ),
    ),
    2: ("option", (("key", "S", 0), ("value", "S", 0))),
    34: ("environment", (("name", "S", 0), ("value", "S", 0))),
    3: ("api", (("id", "U", 32), ("name", "S", 0), ("library", "S", 0))),
    4: ("device", (("ordinal", "U", 32), ("name", "S", 0), ("uuid", "S", 0), ("total_bytes", "U", 64))),
    5: ("thread", (("id", "U", 32), ("tid", "U", 32), ("name", "S", 0))),
    6: (
        "module",
        (
            ("id", "U", 32),
            ("generation", "U", 32),
            ("start", "U", 64),
            ("end", "U", 64),
            ("bias", "U", 64),
            ("path", "S", 0),
            ("build_id", "S", 0),
        ),
    ),
    7: (
        "code",
        (("id", "U", 32), ("function", "S", 0), ("file", "S", 0), ("first_line", "U", 32), ("is_native", "U", 8)),
    ),
    8: ("frame", (("id", "U", 32), ("code", "U", 32), ("line", "U", 32))),
    9: ("frames", (("id", "U", 32), ("truncated", "U", 8), ("items", "L", 64))),
    10: ("stack", (("id", "U", 32), ("generation", "U", 32), ("truncated", "U", 8), ("items", "L", 64))),
    11: (
        "event",
        (
            ("stamp", "D", 64),
            ("thread", "U", 32),
            ("kind", "U", 8),
            ("layer", "U", 8),
            ("space", "U", 8),
            ("device", "I", 16),
            ("api", "U", 16),
            ("address", "D", 64),
            ("size_bytes", "U", 64),
            ("stack", "U", 32),
            ("frames", "U", 32),
            ("result", "U", 32),
            ("stream", "U", 64),
            ("allocated_bytes", "I", 64),
            ("reserved_bytes", "I", 64),
            ("object", "U", 64),
            ("context", "U", 16),
            ("caller", "U", 32),
        ),
    ),
    12: ("clock", (("stamp", "D", 64), ("monotonic_ns", "D", 64), ("realtime_ns", "D", 64))),
    13: ("drop", (("thread", "U", 32), ("reason", "S", 0), ("count", "U", 64))),
    14: ("note", (("text", "S", 0),)),
    15: ("sync", (("stamp", "U", 64), ("events", "U", 64))),
    16: ("end", (("stamp", "U", 64), ("events", "U", 64))),
    17: ("name", (("id", "U", 32), ("text", "S", 0))),
    18: (
        "mark",
        (
            ("stamp", "D", 64),
            ("thread", "U", 32),
            ("kind", "U", 8),
            ("source", "U", 8),
            ("name", "U", 32),
            ("object", "U", 64),
        ),
    ),
    19: (
        "oom",
        (
            ("stamp", "D", 64),
            ("thread", "U", 32),
            ("device", "I", 16),
            ("free_bytes", "U", 64),
            ("total_bytes", "U", 64),
        ),
    ),
    20: (
        "sample",
        (
            ("stamp", "D", 64),
            ("begin_stamp", "D", 64),
            ("device", "U", 16),
            ("known", "U", 16),
            ("free_bytes", "U", 64),
            ("total_bytes", "U", 64),
            ("nvml_used_bytes", "U", 64),
            ("process_bytes", "U", 64),
            ("others_bytes", "U", 64),
            ("pool_reserved_bytes", "U", 64),
            ("pool_used_bytes", "U", 64),
            ("graph_reserved_bytes", "U", 64),
            ("graph_used_bytes", "U", 64),
        ),
    ),
    21: (
        "pool",
        (
            ("stamp", "D", 64),
            ("device", "I", 16),
            ("handle", "U", 64),
            ("origin", "U", 8),
            ("reserved_bytes", "U", 64),
            ("used_bytes", "U", 64),
            ("reserved_high_bytes", "U", 64),
            ("used_high_bytes", "U", 64),
            ("threshold_bytes", "U", 64),
        ),
    ),
    22: ("calls", (("api", "U", 16), ("count", "U", 64))),
    23: ("unhooked", (("name", "S", 0), ("route", "S", 0))),
    24: (
        "fold",
        (
            ("stamp", "U", 64),
            ("events", "U", 64),
            ("survivors", "U", 64),
            ("why", "S", 0),
            ("unknown_frees", "U", 64),
            ("missed_frees", "U", 64),
            ("size_mismatches", "U", 64),
            ("refused_frees", "U", 64),
            ("impossible_sizes", "U", 64),
            ("merged_sites", "U", 64),
            ("calls", "L", 64),
            ("oom_retries", "U", 64),
            ("open_ooms", "L", 64),
        ),
    ),
    25: (
        "past_account",
        (
            ("layer", "U", 8),
            ("device", "I", 16),
            ("live_bytes", "U", 64),
            ("live_blocks", "U", 64),
            ("peak_bytes", "U", 64),
            ("peak_blocks", "U", 64),
            ("peak_stamp", "U", 64),
            ("alloc_count", "U", 64),
            ("free_count", "U", 64),
            ("total_bytes", "U", 64),
            ("refused_count", "U", 64),
            ("has_totals", "U", 8),
            ("reported_allocated_bytes", "U", 64),
            ("reported_allocated_peak_bytes", "U", 64),
            ("reported_reserved_bytes", "U", 64),
            ("reported_reserved_peak_bytes", "U", 64),
            ("unseen_bytes", "I", 64),
            ("reported_disagreements", "U", 64),
            ("held_allocated_bytes", "U", 64),
            ("held_reserved_bytes", "U", 64),
            ("held_stamp", "U", 64),
        ),
    ),
    26: (
        "past_space",
        (
            ("layer", "U", 8),
            ("device", "I", 16),
            ("space", "U", 8),
            ("peak_bytes", "U", 64),
            ("peak_stamp", "U", 64),
            ("held_bytes", "U", 64),
        ),
    ),
    27: (
        "past_heap",
        (
            ("name", "U", 32),
            ("device", "I", 16),
            ("source", "U", 8),
            ("heaps", "U", 64),
            ("max_size_bytes", "U", 64),
            ("swept_blocks", "U", 64),
            ("swept_bytes", "U", 64),
            ("peak_bytes", "U", 64),
            ("peak_blocks", "U", 64),
            ("peak_stamp", "U", 64),
            ("alloc_count", "U", 64),
            ("free_count", "U", 64),
            ("total_bytes", "U", 64),
        ),
    ),
    28: (
        "past_site",
        (
            ("layer", "U", 8),
            ("device", "I", 16),
            ("space", "U", 8),
            ("stack", "U", 32),
            ("frames", "U", 32),
            ("caller", "U", 32),
            ("heap", "U", 32),
            ("thread", "U", 32),
            ("several", "U", 8),
            ("max_live_bytes", "U", 64),
            ("total_bytes", "U", 64),
            ("alloc_count", "U", 64),
            ("free_count", "U", 64),
            ("refused_count", "U", 64),
            ("peak_bytes", "U", 64),
            ("peak_blocks", "U", 64),
            ("heap_peak_bytes", "U", 64),
            ("heap_peak_blocks", "U", 64),
            ("oom_count", "U", 64),
        ),
    ),
    29: (
        "past_step",
        (
            ("stamp", "D", 64),
            ("source", "U", 8),
            ("object", "U", 64),
            ("thread", "U", 32),
            ("name", "U", 32),
            ("steps", "U", 64),
            ("layer", "U", 8),
            ("device", "I", 16),
            ("live_bytes", "U", 64),
            ("peak_bytes", "U", 64),
        ),
    ),
    30: (
        "past_answer",
        (
            ("stamp", "D", 64),
            ("begin_stamp", "D", 64),
            ("device", "U", 16),
            ("known", "U", 16),
            ("free_bytes", "U", 64),
            ("total_bytes", "U", 64),
            ("process_bytes", "U", 64),
            ("others_bytes", "U", 64),
            ("pool_reserved_bytes", "U", 64),
            ("graph_reserved_bytes", "U", 64),
            ("before_steady_bytes", "U", 64),
            ("after_steady_bytes", "U", 64),
            ("after_pool_bytes", "U", 64),
            ("after_graph_bytes", "U", 64),
        ),
    ),
    31: (
        "overhead",
        (("timed_events", "U", 64), ("timed_ticks", "U", 64), ("long_events", "U", 64), ("writer_ns", "U", 64)),
    ),
    32: (
        "past_counter",
        (
            ("source", "U", 8),
            ("object", "U", 64),
            ("thread", "U", 32),
            ("name", "U", 32),
            ("marks", "U", 64),
            ("stride", "U", 64),
            ("last_stamp", "U", 64),
            ("before_stamp", "U", 64),
            ("is_followed", "U", 8),
        ),
    ),
    33: (
        "past_curve",
        (
            ("counter", "U", 32),
            ("step", "D", 64),
            ("site", "U", 32),
            ("live_bytes", "U", 64),
            ("low_bytes", "U", 64),
            ("ended_bytes", "U", 64),
        ),
    ),
}
ALLOC, FREE = 1, 2
CUDA, TORCH = 1, 2
MODULO = 1 << 64


class Damage(Exception):
    """The file is cut or damaged from here on."""


def inflate(data):
    """Returns the content of all gzip members, and whether they are whole."""
    content = bytearray()
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            # Small steps keep the content before a damaged place.
            for at in range(0, len(data), 64):
                content += member.decompress(data[at : at + 64])
                if member.eof:
                    break
        except zlib.error:
            return content, False
        if not member.eof:
            return content, False
        data = data[at + 64 - len(member.unused_data) :] if member.unused_data else data[at + 64 :]
    return content, True


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = 0
        for shift in range(0, 64, 7):
            if self.at == len(self.data):
                raise Damage("a column is too short")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= MODULO:
                    break
                return value
        raise Damage("a varint is too long")

    def signed(self):
        value = self.varint()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def take(self, length):
        if length > len(self.data) - self.at:
            raise Damage("a string is too long")
        self.at += length
        return bytes(self.data[self.at - length : self.at])


def read_column(column, encoding, bits, rows):
    before = 0
    for _ in range(rows):
        if encoding == "S":
            yield column.take(column.varint())
            continue
        if encoding == "L":
            item, items = 0, []
            for _ in range(column.varint()):
                item = (item + column.signed()) % MODULO
                items.append(item)
            yield items
            continue
        if encoding == "U":
            value, low, high = column.varint(), 0, 1 << bits
        elif encoding == "I":
            value, low, high = column.signed(), -(1 << bits - 1), 1 << bits - 1
        else:
            value, low, high = (before + column.signed()) % MODULO, 0, MODULO
            before = value
        if not low <= value < high:
            raise Damage("a number is too large")
        yield value
    if column.at != len(column.data):
        raise Damage("a column is too long")


def add_totals(rows):
    allocated = reserved = 0
    for row in rows:
        if row["layer"] != TORCH:
            continue
        allocated += {ALLOC: 1, FREE: -1}.get(row["kind"], 0) * row["size_bytes"] + row["allocated_bytes"]
        reserved += row["reserved_bytes"]
        row["allocated_bytes"], row["reserved_bytes"] = as_signed(allocated), as_signed(reserved)


def as_signed(value):
    value %= MODULO
    return value - MODULO if value >= MODULO // 2 else value


def read_block(kind, rows, payload):
    name, fields = RECORDS[kind]
    table = [{"record": name} for _ in range(rows)]
    whole = Column(payload)
    for field, encoding, bits in fields:
        if whole.at == len(payload):
            values = ([] if encoding == "L" else b"" if encoding == "S" else 0 for _ in range(rows))
        else:
            values = read_column(Column(whole.take(whole.varint())), encoding, bits, rows)
        for row, value in zip(table, values, strict=True):
            row[field] = value
    if name == "event":
        add_totals(table)
    return table


def read_blocks(content, whole):
    if (
        len(content) < 20
        or content[:8] != b"GMTRACE\n"
        or zlib.crc32(content[:16]) != struct.unpack_from("<I", content, 16)[0]
    ):
        raise Damage("no recording")
    major, _minor, features = struct.unpack_from("<HHI", content, 8)
    if major > 1 or features:
        raise Damage("a newer version")
    at = 20
    while at < len(content):
        if len(content) - at < 16:
            raise Damage("cut in a block's header")
        kind, rows, size, crc = struct.unpack_from("<IIII", content, at)
        if not 1 <= rows <= 1 << 20 or size > 64 << 20 or rows > size:
            raise Damage("an impossible block")
        payload = content[at + 16 : at + 16 + size]
        if len(payload) < size:
            raise Damage("cut in a block")
        if zlib.crc32(payload, zlib.crc32(content[at : at + 12])) != crc:
            raise Damage("a wrong checksum")
        if kind in RECORDS:
            yield read_block(kind, rows, payload)
        at += 16 + size
    if not whole:
        raise Damage("cut behind a block")


def read(path):
    """Yields all records as dictionaries, with "record" for the name. Strings are bytes. Raises Damage at the end."""
    with open(path, "rb") as file:
        content, whole = inflate(file.read())
    for table in read_blocks(content, whole):
        yield from table


def main():
    for row in read(sys.argv[1]):
        print(
            json.dumps(
                {
                    key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                    for key, value in row.items()
                },
                ensure_ascii=False,
                separators=(",", ":"),
            )
        )


if __name__ == "__main__":
    main()
