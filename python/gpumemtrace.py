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
"""
import ctypes
import functools

__all__ = ["is_recording", "mark", "phase", "step"]


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
_is_recording = _find("gpumemtrace_is_recording", ctypes.c_int)


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
