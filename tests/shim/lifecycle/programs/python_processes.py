# SPDX-License-Identifier: MIT
"""python_processes.py MODE: Python programs that run several processes, interpreters and greenlets at the same time."""

import ctypes
import multiprocessing
import os
import sys
import threading

runtime = ctypes.CDLL("libcudart.so.13")
OWN, CHILD = 1111, 2222

# Code for another interpreter, which shares nothing with this one. PyDLL keeps the GIL during the call, CDLL does not.
ELSEWHERE = """
import ctypes
def allocate_elsewhere():
    block = ctypes.c_void_p()
    assert ctypes.{library}("libcudart.so.13").cudaMalloc(ctypes.byref(block), ctypes.c_size_t({size})) == 0
allocate_elsewhere()
"""


def allocate(size, library=runtime):
    block = ctypes.c_void_p()
    if library.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size)):
        os._exit(9)


def work(number):
    """Runs in a child process. Half of the tasks use CUDA."""
    if number % 2:
        allocate(CHILD + number)
    return os.getpid()


def use_pool(method):
    """Runs tasks in a pool. The parent uses CUDA before and after, unless its children could not use it then."""
    context = multiprocessing.get_context(method)
    if method != "fork":
        allocate(OWN)
    with context.Pool(2, maxtasksperchild=1) as pool:
        found = set(pool.map(work, range(4), chunksize=1))
        pool.close()
        pool.join()
    assert len(found) == 4
    allocate(OWN)


def use_loader(method):
    """Works as a data loader: the workers do not use CUDA, but their parent does."""

    def feed(queue):
        for i in range(50):
            queue.put(bytes(1000 + i))

    allocate(OWN)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=feed, args=(queue,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert len([queue.get(timeout=120) for _ in range(150)]) == 150
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0, worker.exitcode
    allocate(OWN)


def use_interpreters():
    """Allocates in another interpreter, on this thread and on a new thread; then in this interpreter again."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    def run(size, library):
        if sys.version_info >= (3, 13):
            other = interpreters.create("legacy")
        elif sys.version_info >= (3, 12):
            other = interpreters.create(isolated=False)
        else:
            other = interpreters.create()
        assert not interpreters.run_string(other, ELSEWHERE.format(size=size, library=library))
        allocate(3000, ctypes.PyDLL("libcudart.so.13"))
        interpreters.destroy(other)

    allocate(1000)
    run(2001, "CDLL")
    run(2002, "PyDLL")
    thread = threading.Thread(target=run, args=(2003, "CDLL"))
    thread.start()
    thread.join()
    allocate(1001)


def use_own_gil():
    """Runs two interpreters at the same time, each with its own GIL (3.13)."""
    import _interpreters as interpreters

    text = ELSEWHERE + "for i in range(200): allocate_elsewhere()\n"

    def run(size):
        interpreter = interpreters.create("isolated")
        interpreters.run_string(interpreter, text.format(size=size, library="CDLL"))
        interpreters.destroy(interpreter)

    threads = [threading.Thread(target=run, args=(size,)) for size in (2001, 2002)]
    for thread in threads:
        thread.start()
    for i in range(200):
        allocate(1000)
    for thread in threads:
        thread.join()


def use_greenlets():
    import greenlet

    def first(left):
        if left:
            return first(left - 1)
        for i in range(20):
            allocate(1000)
            main.switch()

    def second(left):
        if left:
            return sorted([left], key=lambda _: second(left - 1))
        for i in range(20):
            allocate(2000)
            main.switch()

    main = greenlet.getcurrent()
    others = greenlet.greenlet(first), greenlet.greenlet(second)
    for i in range(20):
        for depth, other in zip((4, 2), others):
            other.switch(*([depth] if not i else []))
        allocate(3000)


def use_code_type():
    """Prints the file of the function that frees code objects, before the first allocation and after it."""
    free = 48  # the offset of tp_dealloc in a type

    class Info(ctypes.Structure):
        _fields_ = [
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("symbol", ctypes.c_char_p),
            ("address", ctypes.c_void_p),
        ]

    def show():
        info = Info()
        function = ctypes.c_void_p.from_address(id(type(show.__code__)) + free)
        assert ctypes.CDLL(None).dladdr(function, ctypes.byref(info))
        print(os.path.basename(info.file.decode()))

    show()
    allocate(OWN)
    show()
    for number in range(20):
        names = {"allocate": allocate}
        exec("def made_%02d():\n allocate(%d)" % (number, CHILD + number), names)
        names["made_%02d" % number]()


if __name__ == "__main__":
    globals()["use_" + sys.argv[1]](*sys.argv[2:])
