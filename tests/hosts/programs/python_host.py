# SPDX-License-Identifier: MIT
"""A host program that uses Python's threads, processes and C libraries."""

import ctypes
import ctypes.util
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def square(number):
    return number * number


def in_child(pipe):
    pipe.send((threading.active_count(), sorted(os.listdir("/proc/self/fd"))[:3]))
    pipe.close()


def with_processes():
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        here, there = context.Pipe()
        child = context.Process(target=in_child, args=(there,))
        child.start()
        print(method, here.recv())
        child.join()
        print(child.exitcode)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            print(list(pool.map(square, range(10))))


def with_ctypes():
    libc = ctypes.CDLL(None, use_errno=True)
    print(libc.strlen(b"four"), libc.open(b"/nonexistent", 0), ctypes.get_errno())
    order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
    libc.qsort(numbers, 5, ctypes.sizeof(ctypes.c_int), order(lambda a, b: a[0] - b[0]))
    print(list(numbers))
    for name in ("libcuda.so.1", "libcudart.so.12", "libnothing.so"):
        try:
            ctypes.CDLL(name)
            print(name, "is there")
        except OSError as error:
            print(error)
    for name in ("cuInit", "cudaMalloc", "nothing"):
        print(name, hasattr(libc, name))
    print(ctypes.util.find_library("m"))


def with_signals():
    rung = []
    signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    # signal.pause() could wait for ever: the alarm may come just before it.
    while not rung:
        time.sleep(0.001)
    print("alarm", *rung)
    print(subprocess.run([sys.executable, "-c", "import os; os.abort()"], check=False).returncode)
    crash = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(crash.returncode, crash.stderr)
    faulthandler.dump_traceback(file=sys.stdout)
    print("faulthandler done", flush=True)


def main():
    with ThreadPoolExecutor(8) as pool:
        print(sum(pool.map(square, range(1000))))
    print(threading.active_count(), threading.main_thread().name)
    with_processes()
    with_ctypes()
    print(subprocess.run([os.environ["PROCESS_FACTS"], "x"], capture_output=True, text=True, check=True).stdout)
    print(
        subprocess.run(
            [os.environ["PROCESS_FACTS"]], close_fds=False, capture_output=True, text=True, check=True
        ).stdout
    )
    sys.stdout.flush()
    with_signals()
    child = os.fork()
    if child == 0:
        os._exit(11)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(os.system("exit 3"), os.posix_spawnp("true", ["true"], os.environ) > 0, os.wait()[1])


if __name__ == "__main__":
    main()
