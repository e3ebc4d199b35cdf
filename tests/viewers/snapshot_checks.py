# SPDX-License-Identifier: MIT
"""Checks a memory snapshot by the rules of PyTorch's viewer (torch/utils/viz/MemoryViz.js)."""

import pickle
import pickletools

# The opcodes that the viewer's own unpickler knows.
OPCODES = set(
    "PROTO FRAME MARK STOP EMPTY_DICT EMPTY_LIST EMPTY_TUPLE SETITEMS SETITEM APPENDS APPEND TUPLE TUPLE1 TUPLE2 TUPLE3 "
    "LIST DICT NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE BINPUT "
    "LONG_BINPUT BINGET LONG_BINGET MEMOIZE".split()
)
MAX_ITEMS = 1000


def read(data):
    """Returns a snapshot after the checks of its opcodes."""
    depth, items = [], []
    for opcode, argument, _at in pickletools.genops(data):
        assert opcode.name in OPCODES, opcode.name
        if opcode.name == "PROTO":
            assert argument == 2
        if opcode.name == "LONG1":
            assert 0 <= argument < 1 << 63
        if opcode.name == "MARK":
            depth.append(0)
        elif opcode.name in ("APPENDS", "SETITEMS"):
            items.append(depth.pop())
            assert items[-1] <= 3 * MAX_ITEMS, items[-1]
    snapshot = pickle.loads(data)
    check(snapshot)
    return snapshot


def check(snapshot):
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at, (segment["address"], block)
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]
        active = sum(block["size"] for block in segment["blocks"] if block["state"] == "active_allocated")
        assert segment["allocated_size"] == segment["active_size"] == active
    categories = [event["category"] for trace in snapshot["device_traces"] for event in trace if "category" in event]
    assert not categories or "unknown" in categories
    for device, trace in enumerate(snapshot["device_traces"]):
        go_back([one for one in snapshot["segments"] if one["device"] == device], trace)


def go_back(segments, trace):
    """Undoes the events, the newest first: each block lies in a segment then, and each event finds what it ends."""
    places = {one["address"]: one["total_size"] for one in segments}
    blocks = {
        one["address"]: one["size"] for of in segments for one in of["blocks"] if one["state"] == "active_allocated"
    }
    for event in reversed(trace):
        action = event["action"]
        if action == "oom":
            continue
        address, size = event["addr"], event["size"]
        if action == "free_completed":
            assert address not in blocks, event
            blocks[address] = size
        elif action == "free_requested":
            assert blocks[address] == size, event
        elif action == "alloc":
            assert blocks.pop(address) == size, event
        elif action == "segment_alloc":
            assert places.pop(address) == size, event
        elif action in ("segment_free", "segment_unmap"):
            assert address not in places, event
            places[address] = size
            if action == "segment_unmap":
                merge(places, address)
        elif action == "segment_map":
            split(places, address, size)
        if action in ("free_completed", "segment_alloc", "segment_map"):
            for block, bytes_ in blocks.items():
                assert any(at <= block and block + bytes_ <= at + of for at, of in places.items()), (event, block)


def merge(places, address):
    for other in sorted(places):
        if other + places[other] == address:
            places[other] += places.pop(address)
            address = other
            break
    after = address + places[address]
    if after in places:
        places[address] += places.pop(after)


def split(places, address, size):
    (whole,) = [at for at, of in places.items() if at <= address and address + size <= at + of]
    end = whole + places.pop(whole)
    if whole < address:
        places[whole] = address - whole
    if address + size < end:
        places[address + size] = end - address - size
