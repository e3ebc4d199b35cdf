# SPDX-License-Identifier: MIT
"""Reads the shared memory of killed recorders. Its code is independent of src/shared_memory/shared_recording_layout.h."""

import contextlib
import ctypes
import glob
import os
import struct

MAGIC = b"GMTAREA\n"
HEADER = struct.Struct("<8sIIQQQQQQQQQ")  # magic version slots size preamble journal depot rings
OWNER = struct.Struct("<IIQQ40s256sQQ4352sQQ40s40s")
CHANGING = struct.Struct("<II8Q")  # write_errno slots_used losses
RING = struct.Struct("<IIII16s32xQQ4Q16xQ56x")  # magic capacity thread tid name published seen 4*dropped consumed
RING_MAGIC = 0x31474E52


_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 1 << 14, 1 << 18


def take_own_mounts():
    """Gives this process its own mount namespace, which ends with it. Returns False without permission."""
    return _libc.unshare(_CLONE_NEWNS) == 0 and _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) == 0


def take_own_shared_memory():
    """Mounts an empty /dev/shm for this process only. Returns False without permission."""
    return take_own_mounts() and _libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"mode=1777") == 0


def folder():
    return f"/dev/shm/gpumemtrace-{os.getuid()}"


class SharedRecording:
    """The shared memory of one recorder. `rings` reads it again at each call."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read(HEADER.size + OWNER.size)
        (magic, self.version, self.slots, _, _, _, _, _, _, _, self.rings_offset, self.ring_stride) = (
            HEADER.unpack_from(data)
        )
        self.is_whole = magic == MAGIC
        owner = OWNER.unpack_from(data, HEADER.size)
        self.pid, self.file = owner[0], owner[8].split(b"\0")[0].decode()

    def rings(self):
        """Returns (thread id, published, consumed, dropped) of each ring."""
        found = []
        with open(self.path, "rb") as file:
            file.seek(HEADER.size + OWNER.size)
            used = CHANGING.unpack(file.read(CHANGING.size))[1]
            for slot in range(used):
                file.seek(self.rings_offset + slot * self.ring_stride)
                magic, _, _, tid, _, published, _, *dropped, consumed = RING.unpack(file.read(RING.size))
                if magic == RING_MAGIC:
                    found.append((tid, published, consumed, sum(dropped)))
        return found


def paths(*folders):
    """Returns the paths of all shared recordings of this user, also of those in the output folders `folders`."""
    found = glob.glob(os.path.join(folder(), "*.area"))
    for output_folder in folders:
        found += glob.glob(os.path.join(output_folder, ".gpumemtrace-*.area"))
    return found


def recordings(*folders):
    """Returns all whole shared recordings of this user, also those in the output folders `folders`."""
    found = []
    for path in paths(*folders):
        try:
            found.append(SharedRecording(path))
        except (OSError, struct.error):
            pass
    return [recording for recording in found if recording.is_whole]


def find(file):
    """Returns the shared recording whose file is `file`, or None."""
    file = os.path.realpath(file)
    return next((recording for recording in recordings(os.path.dirname(file)) if recording.file == file), None)


def remove_below(output_folder):
    """Removes the shared recordings whose files are in the folder or its subfolders."""
    for recording in recordings(output_folder):
        if recording.file.startswith(os.path.join(os.path.realpath(output_folder), "")):
            # The next recorder or a reader may have removed it already.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(recording.path)
