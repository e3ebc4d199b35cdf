# SPDX-License-Identifier: MIT
"""Marks for gpumemtrace, the memory profiler for CUDA.

A program says where it is, and reports can tell by that when memory came and went::

    import gpumemtrace

    for batch in batches:
        with gpumemtrace.phase("forward"):
            loss = model(batch)
        ...
        gpumemtrace.step()

Without the recorder (``LD_PRELOAD=libgpumemtrace.so``) all of this does nothing. This one file is all there
is: it may also be copied beside the program. Any thread may call any of these.

A memory pool of its own tells its blocks with a :class:`Heap`. The pools of three libraries report theirs after one
call: :func:`watch_cupy`, :func:`watch_rmm`, :func:`watch_numba`.
"""

import ctypes
import functools
import weakref

__all__ = [
    "Heap",
    "is_recording",
    "mark",
    "pause",
    "phase",
    "resume",
    "snapshot",
    "step",
    "watch_cupy",
    "watch_numba",
    "watch_rmm",
]


def _ignore(*_):
    return 0


def _find(name, result, *arguments):
    """A function of the recorder, which stands in the process's global scope; without it, one that ignores."""
    try:
        # PyDLL keeps the interpreter's lock: giving it up and taking it again costs more than the call.
        function = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return _ignore
    function.restype = result
    function.argtypes = arguments
    return function


_step = _find("gpumemtrace_step", None)
_push = _find("gpumemtrace_phase_push", None, ctypes.c_char_p)
_pop = _find("gpumemtrace_phase_pop", None)
_mark = _find("gpumemtrace_mark", None, ctypes.c_char_p)
_snapshot = _find("gpumemtrace_snapshot", None, ctypes.c_char_p)
_pause = _find("gpumemtrace_pause", None)
_resume = _find("gpumemtrace_resume", None)
_is_recording = _find("gpumemtrace_is_recording", ctypes.c_int)
_heap = _find("gpumemtrace_heap", ctypes.c_uint, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_heap_resize = _find("gpumemtrace_heap_resize", None, ctypes.c_uint, ctypes.c_size_t)
_heap_reset = _find("gpumemtrace_heap_reset", None, ctypes.c_uint)
_heap_end = _find("gpumemtrace_heap_end", None, ctypes.c_uint)
_suballoc = _find("gpumemtrace_suballoc", None, ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_subfree = _find("gpumemtrace_subfree", None, ctypes.c_uint, ctypes.c_void_p)


def _bytes_of(name):
    return name if isinstance(name, bytes) else str(name).encode("utf-8", "replace")


def step():
    """A step ended: an iteration of training, a request served. Reports compare one step with the next."""
    _step()


def mark(name):
    """A moment with a name."""
    _mark(_bytes_of(name))


def is_recording():
    """Whether the recorder is here and records what this process does with CUDA, from the first allocation on."""
    return bool(_is_recording())


def snapshot(name=""):
    """Writes what was recorded so far to a file beside the recording, soon: a whole recording of its own."""
    _snapshot(_bytes_of(name))


def pause():
    """From now on blocks are recorded without stacks; what lives, and how much, stays exact."""
    _pause()


def resume():
    """From now on they have stacks again."""
    _resume()


class phase:
    """A phase of this thread, as a context manager or as a decorator; phases nest. Each use begins it anew.

    It ends in the thread in which it began. Coroutines that take turns in one thread must not be inside
    phases of their own while they wait.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = _bytes_of(name)

    def __enter__(self):
        _push(self._name)
        return self

    def __exit__(self, *_):
        _pop()

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*arguments, **more):
            _push(self._name)
            try:
                return function(*arguments, **more)
            finally:
                _pop()

        return inside


class Heap:
    """A pool of the program's own, which hands out blocks of the memory that it has.

    ``address`` and ``size_bytes`` say what memory that is; 0 where it has none yet, has several pieces, or grows.
    The device is found from ``address``, or else from the first block. Heaps of one name on one device are one
    row of a report. As a context manager, it ends where the block of code does.
    """

    __slots__ = ("_number",)

    def __init__(self, name, address=0, size_bytes=0):
        self._number = _heap(_bytes_of(name), address, size_bytes)

    def suballoc(self, address, size_bytes, stream=0):
        """The heap has handed out this block, for work on ``stream``. Address 0 is ignored."""
        _suballoc(self._number, address, size_bytes, stream)

    def subfree(self, address):
        """The heap is about to take this block back: to be called before anybody can get the same memory."""
        _subfree(self._number, address)

    def resize(self, size_bytes):
        """The heap has so much memory now; 0: it does not say."""
        _heap_resize(self._number, size_bytes)

    def reset(self):
        """All blocks end at once; the heap goes on."""
        _heap_reset(self._number)

    def end(self):
        """Likewise, and the heap ends too."""
        _heap_end(self._number)
        self._number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class _Blocks:
    """Heaps of one name, one for each device, and the blocks in them that were reported.

    Its methods go on to work while the interpreter ends, when this module's variables are gone: what they need is in
    here.
    """

    def __init__(self, name):
        self._name = name
        self._new_heap = Heap
        self._subfree = _subfree
        self._heaps = {}
        self._live = {}

    def got(self, device, address, size_bytes, stream=0):
        if not address or not size_bytes:
            return
        heap = self._heaps.get(device)
        if heap is None:
            heap = self._heaps.setdefault(device, self._new_heap(self._name))
        self._live[address] = heap._number
        heap.suballoc(address, size_bytes, stream)

    def gives(self, address):
        """A block that was there before the first report is not in the heap."""
        number = self._live.pop(address, None)
        if number is not None:
            self._subfree(number, address)


_cupy_blocks = _Blocks("CuPy")


def watch_cupy():
    """CuPy's pool reports each block that it hands out in this thread, and each that it takes back.

    To be called in each thread that uses CuPy, once, before its first array: CuPy calls hooks of the calling thread
    only. Returns the hook, whose ``__exit__()`` ends it in the thread that made it; None without the recorder.
    """
    if _suballoc is _ignore:
        return None

    import cupy

    blocks = _cupy_blocks

    class Hook(cupy.cuda.MemoryHook):
        name = "gpumemtrace"

        def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, pmem_id):
            blocks.got(device_id, mem_ptr, mem_size)

        def free_preprocess(self, device_id, mem_size, mem_ptr, pmem_id):
            blocks.gives(mem_ptr)

    hook = Hook()
    hook.__enter__()
    return hook


def watch_rmm(resource=None):
    """RMM's resource of the current device, or this one, reports each block that it hands out or takes back.

    Makes a resource around it, sets that as the device's, and returns it; None without the recorder.
    """
    if _suballoc is _ignore:
        return None

    import rmm

    upstream = resource or rmm.mr.get_current_device_resource()
    blocks = _Blocks("RMM")

    def allocate(size_bytes, stream):
        address = upstream.allocate(size_bytes, stream)
        blocks.got(0, address, size_bytes, _stream_number(stream))
        return address

    def deallocate(address, size_bytes, stream):
        blocks.gives(address)
        upstream.deallocate(address, size_bytes, stream)

    around = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    rmm.mr.set_current_device_resource(around)
    return around


def _stream_number(stream):
    """A stream's handle, as far as the object tells it."""
    try:
        return int(stream.__cuda_stream__()[1])
    except (AttributeError, IndexError, TypeError, ValueError):
        return 0


def watch_numba():
    """Each array of Numba's is reported when it is made and when its last reference goes.

    Numba frees later, many arrays at a time. To be called before Numba's first call of CUDA. Returns the memory
    manager, which Numba has been told of; None without the recorder.
    """
    if _suballoc is _ignore:
        return None

    from numba import cuda
    from numba.cuda.cudadrv.driver import NumbaCUDAMemoryManager

    blocks = _Blocks("Numba")

    class Manager(NumbaCUDAMemoryManager):
        def memalloc(self, size):
            pointer = super().memalloc(size)
            address = pointer.device_ctypes_pointer.value
            # The array and its views own the memory together: it ends with the last of them. The newest comes first here.
            owned = next(
                (row for row in reversed(self.allocations.values()) if row.device_ctypes_pointer.value == address),
                pointer,
            )
            blocks.got(self.context.device.id, address, size)
            weakref.finalize(owned, blocks.gives, address).atexit = False
            return pointer

    cuda.set_memory_manager(Manager)
    return Manager
