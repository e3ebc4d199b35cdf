# SPDX-License-Identifier: MIT
"""Marks for gpumemtrace, the memory profiler for CUDA.

A program marks its steps and phases, so that reports can attribute memory to them::

    import gpumemtrace

    for batch in batches:
        with gpumemtrace.phase("forward"):
            loss = model(batch)
        ...
        gpumemtrace.step()

Without the recorder (``LD_PRELOAD=libgpumemtrace.so``), these functions do nothing. Marks need this one file; you may
also copy it next to your program, as ``gpumemtrace.py``. Any thread may call any function.

A program with its own memory pool reports the pool's blocks with a :class:`Heap`. The memory pools of CuPy, RMM and
Numba report their blocks after one call: :func:`watch_cupy`, :func:`watch_rmm`, :func:`watch_numba`.

Recordings are read with :func:`open`, which is loaded at its first use::

    with gpumemtrace.open("train.gmt.gz") as recording:
        print(recording.leaks().findings)
        blocks = recording.table("blocks").to_pandas()

:func:`open_job` reads the tables of many recordings, :func:`export` writes them as Parquet. :mod:`gpumemtrace.spark`,
:mod:`gpumemtrace.ray` and :mod:`gpumemtrace.dask` give them to these engines.

In a notebook, ``%load_ext gpumemtrace`` adds the magics ``%%gpumemtrace`` and ``%gpumemtrace``.
"""

from __future__ import annotations

import ctypes
import functools
import weakref

TYPE_CHECKING = False  # typing takes several milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Optional, TypeVar, Union

    from gpumemtrace._errors import ArgumentError as ArgumentError
    from gpumemtrace._errors import Error as Error
    from gpumemtrace._errors import FileError as FileError
    from gpumemtrace._errors import FormatError as FormatError
    from gpumemtrace._errors import InstallationError as InstallationError
    from gpumemtrace._errors import NewerError as NewerError
    from gpumemtrace._errors import OutOfMemoryError as OutOfMemoryError
    from gpumemtrace._jobs.export import Export as Export
    from gpumemtrace._jobs.export import export as export
    from gpumemtrace._jobs.job import Job as Job
    from gpumemtrace._jobs.job import JobTable as JobTable
    from gpumemtrace._jobs.job import open_job as open_job
    from gpumemtrace._recording import Page as Page
    from gpumemtrace._recording import Recording as Recording
    from gpumemtrace._recording import open as open
    from gpumemtrace._tables import Table as Table

    Function = TypeVar("Function", bound=Callable[..., Any])
    Text = Union[str, bytes]

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


def load_ipython_extension(shell: object) -> None:
    """Adds the magics to IPython. IPython calls this function for ``%load_ext gpumemtrace``."""
    from gpumemtrace import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Removes what :func:`load_ipython_extension` added."""
    from gpumemtrace import notebook

    notebook.unload(shell)


# Names that are loaded at their first use, each with its module. `open` is not in __all__: it would replace Python's.
_LAZY = {
    "ArgumentError": "_errors",
    "Error": "_errors",
    "Export": "_jobs.export",
    "FileError": "_errors",
    "FormatError": "_errors",
    "InstallationError": "_errors",
    "Job": "_jobs.job",
    "JobTable": "_jobs.job",
    "NewerError": "_errors",
    "OutOfMemoryError": "_errors",
    "Page": "_recording",
    "Recording": "_recording",
    "Table": "_tables",
    "export": "_jobs.export",
    "open": "_recording",
    "open_job": "_jobs.job",
}


def __getattr__(name: str) -> Any:
    """Loads what reads recordings. A copy of this file next to a program has the marks alone."""
    if name not in _LAZY or "__path__" not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def _ignore(*_: object) -> int:
    return 0


def _find(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Returns the recorder's function of this name. Without the recorder, returns a function that does nothing.

    The recorder exports its functions in the global scope of the process.
    """
    try:
        # PyDLL keeps the interpreter's lock (GIL). Releasing and taking the lock costs more than the call.
        function: Any = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return _ignore
    function.restype = result
    function.argtypes = arguments
    found: Callable[..., Any] = function
    return found


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


def _bytes_of(name: Text) -> bytes:
    return name if isinstance(name, bytes) else str(name).encode("utf-8", "replace")


def step() -> None:
    """Marks the end of a step, for example a training iteration or a served request.

    Reports compare each step with the next one.
    """
    _step()


def mark(name: Text) -> None:
    """Marks a moment with a name."""
    _mark(_bytes_of(name))


def is_recording() -> bool:
    """Returns True if the recorder is present and records this process's CUDA calls.

    Recording starts at the first allocation.
    """
    return bool(_is_recording())


def snapshot(name: Text = "") -> None:
    """Writes everything recorded so far to a file next to the recording (name.snapshot-1.gmt.gz and so on).

    The file is a complete recording that contains ``name``. Returns at once; the recorder's thread writes the file.
    """
    _snapshot(_bytes_of(name))


def pause() -> None:
    """Stops recording stacks, which cause most of the cost. Live blocks and totals stay exact.

    Applies to all threads until :func:`resume`.
    """
    _pause()


def resume() -> None:
    """Records stacks again."""
    _resume()


class phase:
    """Marks a phase of the calling thread, as a context manager or as a decorator.

    Phases nest. You may use one object several times: each use begins a new phase. The thread that begins a phase must
    also end it. Coroutines that share a thread must not wait (``await``) inside a phase.
    """

    __slots__ = ("_name",)

    def __init__(self, name: Text) -> None:
        self._name = _bytes_of(name)

    def __enter__(self) -> phase:
        _push(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        _pop()

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def inside(*arguments: Any, **more: Any) -> Any:
            _push(self._name)
            try:
                return function(*arguments, **more)
            finally:
                _pop()

        return inside  # type: ignore[return-value]


class Heap:
    """Reports the blocks that the program's own memory pool hands out.

    ``address`` and ``size_bytes`` describe the pool's memory. Pass 0 for both if the pool has no memory yet, has
    several pieces, or grows. The recorder finds the device from ``address``, or otherwise from the first block. Heaps
    with the same name on one device share a row of a report. A heap may be used as a context manager; it then ends at
    the end of the ``with`` block.
    """

    __slots__ = ("_number",)

    def __init__(self, name: Text, address: int = 0, size_bytes: int = 0) -> None:
        self._number: int = _heap(_bytes_of(name), address, size_bytes)

    def suballoc(self, address: int, size_bytes: int, stream: int = 0) -> None:
        """Records that the heap has handed out this block for work on ``stream``. Address 0 is ignored."""
        _suballoc(self._number, address, size_bytes, stream)

    def subfree(self, address: int) -> None:
        """Records that the heap is about to take this block back.

        Call this before another thread can get the same memory.
        """
        _subfree(self._number, address)

    def resize(self, size_bytes: int) -> None:
        """Sets the heap's current memory size. 0: unknown."""
        _heap_resize(self._number, size_bytes)

    def reset(self) -> None:
        """Ends all blocks of the heap at once. The heap continues to exist."""
        _heap_reset(self._number)

    def end(self) -> None:
        """Ends all blocks of the heap, and the heap itself."""
        _heap_end(self._number)
        self._number = 0

    def __enter__(self) -> Heap:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.end()


class _Blocks:
    """Holds the heaps of one name (one for each device) and their live blocks.

    The methods must also work while the interpreter exits, after Python has cleared this module's variables. Therefore
    each object keeps its own references to the functions that it needs.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._new_heap = Heap
        self._subfree = _subfree
        self._heaps: dict[int, Heap] = {}  # by device
        self._live: dict[int, int] = {}  # from address to number of the heap

    def allocated(self, device: int, address: int, size_bytes: int, stream: int = 0) -> None:
        """Records a new block. Ignores a block without an address or without a size."""
        if not address or not size_bytes:
            return
        heap = self._heaps.get(device)
        if heap is None:
            heap = self._heaps.setdefault(device, self._new_heap(self._name))
        self._live[address] = heap._number
        heap.suballoc(address, size_bytes, stream)

    def freed(self, address: int) -> None:
        """Records the end of a block. Ignores a block that is older than the first report."""
        number = self._live.pop(address, None)
        if number is not None:
            self._subfree(number, address)


_cupy_blocks = _Blocks("CuPy")


def watch_cupy() -> Any:
    """Reports each block that CuPy's memory pool hands out or takes back in the calling thread.

    Call this once in each thread that uses CuPy, before the thread makes its first array. CuPy calls only the hooks of
    the calling thread. Returns the hook; to remove it, call its ``__exit__()`` in the same thread. Returns None without
    the recorder.
    """
    if _suballoc is _ignore:
        return None

    import cupy  # type: ignore[import-not-found,import-untyped,unused-ignore]

    blocks = _cupy_blocks

    class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc,unused-ignore]
        name = "gpumemtrace"

        def malloc_postprocess(self, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
            blocks.allocated(device_id, mem_ptr, mem_size)

        def free_preprocess(self, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
            blocks.freed(mem_ptr)

    hook = Hook()
    hook.__enter__()
    return hook


def watch_rmm(resource: Any = None) -> Any:
    """Reports each block that an RMM memory resource hands out or takes back.

    ``resource`` is the resource to report; None means the resource of the current device. Makes a new resource that
    calls ``resource``. Sets it as the resource of the current device and returns it. Returns None without the recorder.
    """
    if _suballoc is _ignore:
        return None

    import rmm  # type: ignore[import-not-found,import-untyped,unused-ignore]

    upstream = resource or rmm.mr.get_current_device_resource()
    blocks = _Blocks("RMM")

    def allocate(size_bytes: int, stream: Any) -> Any:
        address = upstream.allocate(size_bytes, stream)
        blocks.allocated(0, address, size_bytes, _stream_number(stream))
        return address

    def deallocate(address: int, size_bytes: int, stream: Any) -> None:
        blocks.freed(address)
        upstream.deallocate(address, size_bytes, stream)

    around = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    rmm.mr.set_current_device_resource(around)
    return around


def _stream_number(stream: Any) -> int:
    """Returns the CUDA handle of a stream object, or 0 if the object does not provide one."""
    try:
        return int(stream.__cuda_stream__()[1])
    except (AttributeError, IndexError, TypeError, ValueError):
        return 0


def watch_numba() -> Any:
    """Reports each Numba array when Numba makes it and when the program drops the last reference to it.

    Numba frees the memory later, many arrays at a time. Call this before Numba's first CUDA call. Gives Numba a memory
    manager and returns that manager. Returns None without the recorder.
    """
    if _suballoc is _ignore:
        return None

    from numba import cuda  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from numba.cuda.cudadrv.driver import NumbaCUDAMemoryManager  # type: ignore[import-not-found,import-untyped,unused-ignore]

    blocks = _Blocks("Numba")

    class Manager(NumbaCUDAMemoryManager):  # type: ignore[misc,unused-ignore]
        def memalloc(self, size: int) -> Any:
            pointer = super().memalloc(size)
            address = pointer.device_ctypes_pointer.value
            # The array and its views share one owner object, which dies with the last of them. Newest allocation first.
            owned = next(
                (row for row in reversed(self.allocations.values()) if row.device_ctypes_pointer.value == address),
                pointer,
            )
            blocks.allocated(self.context.device.id, address, size)
            weakref.finalize(owned, blocks.freed, address).atexit = False
            return pointer

    cuda.set_memory_manager(Manager)
    return Manager
