# SPDX-License-Identifier: MIT
"""Reads recordings in worker processes, because the C library analyses one recording at a time in each process.

A worker reads requests from stdin and writes answers to stdout, one JSON object in each line. A request has `path`,
`storage_options`, `output` and `tables`. The worker writes the tables to the file `output`, one Arrow stream after the
other. The answer has the place of the recording in its job, or the `error`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Optional

from gpumemtrace import _errors
from gpumemtrace._jobs import rows

if TYPE_CHECKING:
    from collections.abc import Iterator


def _write_tables(recording: Any, place: rows.JobPlace, output: str, tables: list[str]) -> None:
    pa = rows.arrow()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(output, "wb") as file:
        for name in tables:
            choice = rows.Choice(name)
            schema = rows.schema(choice)
            with pa.ipc.new_stream(file, schema, options=options) as writer:
                for batch in rows.batches(recording, place, choice, schema):
                    writer.write_batch(batch)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        with rows.open_source(request["path"], request["storage_options"]) as recording:
            place = rows.job_place_of(recording)
            _write_tables(recording, place, request["output"], request["tables"])
            return {
                "place": dataclasses.asdict(place),
                "damage": recording.warnings[0] if recording.is_damaged else None,
                "is_complete": recording.is_complete,
                "warnings": "; ".join(recording.warnings) or None,
            }
    except (_errors.Error, OSError) as error:
        return {"error": str(error)}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


class Worker:
    """A process that runs `main`. Used by one thread at a time."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[str]] = None

    def _start(self) -> subprocess.Popen[str]:
        # The worker imports the same modules as this process.
        code = f"import sys; sys.path[:] = sys.argv[1:]; from {__name__} import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUTF8": "1"},
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer. If the process ends, returns an error; the next request starts another process."""
        process = self._process = self._process or self._start()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._process = None
        code = process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"error": f"{request['path']}: the process that read it ended with {how}"}

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()


class Pool:
    """Several workers, each with a thread. Requests are answered in order."""

    def __init__(self, count: int) -> None:
        self._workers = [Worker() for _ in range(count)]

    def ask_all(self, requests: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yields each request with its answer. A few requests run ahead of the caller."""
        ahead = threading.Semaphore(2 * len(self._workers))
        answers: list[Any] = [None] * len(requests)
        ready = [threading.Event() for _ in requests]
        numbers = iter(range(len(requests)))
        lock = threading.Lock()
        is_ended = threading.Event()

        def work(worker: Worker) -> None:
            while True:
                ahead.acquire()
                with lock:
                    number = next(numbers, None)
                if number is None or is_ended.is_set():
                    ahead.release()
                    return
                try:
                    answers[number] = worker.ask(requests[number])
                except Exception as error:
                    answers[number] = {"error": f"{requests[number]['path']}: {error}"}
                ready[number].set()

        threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in self._workers]
        for thread in threads:
            thread.start()
        try:
            for number, request in enumerate(requests):
                ready[number].wait()
                yield request, answers[number]
                answers[number] = None
                ahead.release()
        finally:
            is_ended.set()
            for _ in threads:
                ahead.release()
            for worker in self._workers:
                worker.close()
            for thread in threads:
                thread.join()
            # A thread may have started its worker again in the meantime.
            for worker in self._workers:
                worker.close()
