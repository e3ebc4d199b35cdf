# SPDX-License-Identifier: MIT
"""A program that uses many modules: event loops, threads, child processes, TLS, a data base, signals, resources."""

import asyncio
import concurrent.futures
import ctypes
import decimal
import gc
import hashlib
import locale
import os
import resource
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import zlib


async def talk():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    print(await reader.readline())
    writer.close()
    server.close()
    child = await asyncio.create_subprocess_exec("sh", "-c", "echo child; exit 3", stdout=subprocess.PIPE)
    print(await child.communicate(), child.returncode)


def main():
    asyncio.run(talk())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(lambda n: n * n, range(100))))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(abs, range(-3, 0))))
    base = sqlite3.connect("base")
    base.execute("create table t(a)")
    base.executemany("insert into t values (?)", [(n,) for n in range(100)])
    print(base.execute("select sum(a) from t").fetchone())
    base.close()
    print(ssl.create_default_context().verify_mode, hashlib.sha256(b"x").hexdigest()[:8], zlib.crc32(b"x"))
    print(decimal.Decimal(2).sqrt(), locale.setlocale(locale.LC_ALL), gc.isenabled())
    got = []
    signal.signal(signal.SIGALRM, lambda *_: got.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not got:
        time.sleep(0.001)
    print(
        got,
        signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    )
    one, other = socket.socketpair()
    one.send(b"x")
    print(select.select([other], [], [], 60)[0] == [other], one.fileno(), other.fileno())
    print(resource.getrlimit(resource.RLIMIT_NOFILE), os.sched_getaffinity(0) == os.sched_getaffinity(os.getpid()))
    with tempfile.NamedTemporaryFile() as file:
        print(file.fileno(), os.path.dirname(file.name) == tempfile.gettempdir())
    ctypes.set_errno(7)
    print(ctypes.CDLL(None, use_errno=True).close(-1), ctypes.get_errno(), threading.active_count())
    print(
        subprocess.run(
            [sys.executable, "-c", "import os; print(os.listdir('/proc/self/fd'))"], capture_output=True, check=False
        ).returncode
    )
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    print(os.waitpid(child, 0)[1], "asked done")


if __name__ == "__main__":
    main()
