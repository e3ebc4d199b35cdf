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

A memory pool of its own tells its blocks with a :class:`Heap`.
"""
import ctypes
import functools

__all__ = ["Heap", "is_recording", "mark", "pause", "phase", "resume", "snapshot", "step"]


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
