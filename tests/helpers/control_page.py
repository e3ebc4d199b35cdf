# SPDX-License-Identifier: MIT
"""The shared page through which `ps`, `snapshot` and `pause` control a recorder, as in src/shared_memory/control_page.h."""

import ctypes

PATH_BYTES, TEXT_BYTES = 4352, 256
IDLE, CLAIMED, ASKED, AT_WORK, ANSWERED = range(5)  # enum gmt_control_turn


class ControlPage(ctypes.Structure):
    """The layout of the page. `ControlPage.turn.offset` is the offset of a field."""

    _fields_ = [
        ("magic", ctypes.c_char * 8),
        ("version", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("start_ticks", ctypes.c_uint64),
        ("start_time_ns", ctypes.c_uint64),
        ("mode", ctypes.c_char * 16),
        ("program", ctypes.c_char * TEXT_BYTES),
        ("path", ctypes.c_char * PATH_BYTES),
        ("state", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("events", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("file_bytes", ctypes.c_uint64),
        ("snapshots", ctypes.c_uint64),
        ("told_ns", ctypes.c_uint64),
        ("turn", ctypes.c_uint32),
        ("requester", ctypes.c_uint32),
        ("verb", ctypes.c_uint32),
        ("has_failed", ctypes.c_uint32),
        ("argument", ctypes.c_char * PATH_BYTES),
        ("answer", ctypes.c_char * (PATH_BYTES + TEXT_BYTES)),
    ]
