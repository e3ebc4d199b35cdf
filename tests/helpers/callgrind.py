# SPDX-License-Identifier: MIT
"""Counts the instructions of a program with or without the recorder. Needs valgrind."""

import glob
import os
import shutil
import subprocess
import tempfile

from recorded_run import SHIM, SIMCUDA

VALGRIND = shutil.which("valgrind")


def instructions_of_threads(options, command):
    """Returns the instructions of each thread by its number. The recorder's come after the program's first thread."""
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-test.") as folder:
        # overflow=drop: a thread that waits for space in its ring would execute more instructions the longer it waits.
        settings = [f"GPUMEMTRACE_OPTIONS={options}:samples=off:overflow=drop", f"LD_PRELOAD={SHIM}"] if options else []
        subprocess.run(
            [
                VALGRIND,
                "--tool=callgrind",
                "--trace-children=yes",
                "--separate-threads=yes",
                f"--callgrind-out-file={folder}/out.%p",
                "env",
                *settings,
                *command,
            ],
            env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA, "PYTHONHASHSEED": "0"},
            cwd=folder,
            capture_output=True,
            check=True,
        )
        found = {}
        for path in glob.glob(os.path.join(folder, "out.*-[0-9][0-9]")):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if f"\ncmd:  {command[0]} " in text:
                found[int(path[-2:])] = int(text.split("\nsummary: ")[1].split()[0])
    if not found:
        raise AssertionError("callgrind wrote nothing of the program")
    return found
