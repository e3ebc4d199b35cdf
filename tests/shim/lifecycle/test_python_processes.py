# SPDX-License-Identifier: MIT
"""Python's processes, interpreters and greenlets: each event has its own stack, or none and a note."""

import collections
import glob
import os
import subprocess
import sys
import unittest

import tap
from definitions import Kind
from recorded_run import SOURCE, RecordedRun, events, records, report

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "python_processes.py")
SETUP = os.path.join(SOURCE, "scripts", "setup")
LONG = bool(os.environ.get("GMT_TEST_LONG"))
TIMEOUT_S = 240  # only a deadlock lasts so long
OWN, CHILD = 1111, 2222


def interpreters():
    """
    Returns (version, path) of Pythons on this machine whose frames the recorder reads: this one, the oldest and the
    newest; with --long, all.
    """
    found = {}
    newest = [
        path
        for folder in filter(None, os.environ.get("GMT_TEST_PYTHONS", "").split(":"))
        for path in glob.glob(os.path.join(glob.escape(folder), "python3.[0-9]*[0-9]"))
    ]
    pyenv = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
    for path in [sys.executable, *sorted(pyenv), *newest]:
        try:
            asked = subprocess.run(
                [path, "-c", "import sys, ctypes; print(sys.version_info[1])"], capture_output=True, text=True
            )
        except OSError:  # its loader is in a folder that this user may not enter
            continue
        if asked.returncode == 0 and 9 <= int(asked.stdout) <= 15:
            found.setdefault((3, int(asked.stdout)), path)
    chosen = found if LONG else {sys.version_info[:2], min(found), max(found)} & set(found)
    return sorted((version, found[version]) for version in chosen)


def python_stacks(path):
    """Yields (size, names of functions from the innermost) of each event."""
    rows = collections.defaultdict(dict)
    for row in records(path):
        if row["record"] in ("code", "frame", "frames"):
            rows[row["record"]][row["id"]] = row
    for event in events(path):
        items = rows["frames"][event["frames"]]["items"] if event["frames"] else []
        names = [rows["code"][rows["frame"][item >> 1]["code"]]["function"] for item in items]
        yield event["size_bytes"], [name.rpartition(".")[2] for name in names]


class Lives(unittest.TestCase):
    def run_mode(self, *arguments, python=sys.executable, **more):
        run = RecordedRun([python, SCRIPT, *arguments], timeout=TIMEOUT_S, **more)
        self.assertEqual((run.code, run.err), (0, ""), arguments)
        for path in run.files:
            self.assertTrue(report(path)["complete"], path)
        return run


class Processes(Lives):
    def check_pool(self, method, own):
        run = self.run_mode("pool", method)
        sizes = sorted(
            [event["size_bytes"] for event in events(path) if event["kind"] == Kind.ALLOC] for path in run.files
        )
        self.assertEqual(sizes, sorted([[OWN] * own, [CHILD + 1], [CHILD + 3]]))

    def test_each_worker_of_a_forked_pool_that_uses_cuda_has_a_file_and_no_other_has(self):
        self.check_pool("fork", 1)

    def test_each_worker_of_a_spawned_pool_that_uses_cuda_has_a_file_and_no_other_has(self):
        self.check_pool("spawn", 2)

    def test_each_worker_of_a_fork_server_that_uses_cuda_has_a_file_and_no_other_has(self):
        self.check_pool("forkserver", 2)

    def test_workers_that_only_load_data_for_a_program_that_uses_cuda_leave_no_file(self):
        run = self.run_mode("loader", "fork")
        self.assertEqual([event["size_bytes"] for event in run.events()], [OWN, OWN])


class Interpreters(Lives):
    def test_no_event_of_another_interpreter_has_the_stack_of_the_first(self):
        for version, python in interpreters():
            with self.subTest(version):
                run = self.run_mode("interpreters", python=python)
                stacks = collections.defaultdict(list)
                for size, names in python_stacks(run.file):
                    stacks[size].append(names)
                elsewhere = [["allocate_elsewhere", "<module>"]] if version >= (3, 12) else [[]]
                for size in (2001, 2002, 2003):
                    self.assertEqual(stacks[size], elsewhere, size)
                for names in stacks[3000]:
                    self.assertEqual(names[:2], ["allocate", "run"])
                for size in (1000, 1001):
                    self.assertEqual(stacks[size], [["allocate", "use_interpreters", "<module>"]])
                notes = [row["text"] for row in run.records("note")]
                self.assertEqual(any("another interpreter" in text for text in notes), version < (3, 12), notes)

    def test_interpreters_with_a_gil_of_their_own_have_stacks_of_their_own_at_the_same_time(self):
        found = [(version, python) for version, python in interpreters() if version >= (3, 13)]
        if not found:
            self.skipTest("no Python 3.13 or newer on this machine")
        for version, python in found:
            with self.subTest(version):
                run = self.run_mode("own_gil", python=python)
                counts = collections.Counter(
                    (size, names[0], len(names) > 1) for size, names in python_stacks(run.file) if size
                )
                self.assertEqual(
                    counts,
                    {
                        (1000, "allocate", True): 200,
                        (2001, "allocate_elsewhere", True): 201,
                        (2002, "allocate_elsewhere", True): 201,
                    },
                )


class Greenlets(Lives):
    def test_each_greenlet_has_the_stack_of_its_own_functions(self):
        for version, python in interpreters():
            asked = subprocess.run([os.path.join(SETUP, "greenlet"), python], capture_output=True, text=True)
            if asked.returncode == 77:
                self.skipTest("greenlet cannot be had: " + asked.stderr.strip())
            self.assertEqual(asked.returncode, 0, asked.stderr)
            with self.subTest(version):
                run = self.run_mode(
                    "greenlets", python=python, environment={"PYTHONPATH": asked.stdout.splitlines()[-1]}
                )
                counts = collections.Counter((size, *names) for size, names in python_stacks(run.file) if size)
                main = "use_greenlets", "<module>"
                self.assertEqual(
                    counts,
                    {
                        (1000, "allocate", *["first"] * 5): 20,
                        (2000, "allocate", "second", "<lambda>", "second", "<lambda>", "second"): 20,
                        (3000, "allocate", *main): 20,
                    },
                )


class CodeType(Lives):
    def test_the_type_of_code_objects_is_changed_before_3_12_and_not_where_the_option_says_off(self):
        for version, python in interpreters():
            for value in ("on", "off"):
                with self.subTest(version=version, watch_code=value):
                    run = self.run_mode("code_type", python=python, options={"watch_code": value})
                    before, after = run.out.split()
                    self.assertNotIn("gpumemtrace", before)
                    if version < (3, 12) and value == "on":
                        self.assertEqual(after, "libgpumemtrace.so")
                    else:
                        self.assertEqual(after, before)
                    # Each function is at the address of the function before it, whose code is freed.
                    for size, names in python_stacks(run.file):
                        if size >= CHILD:
                            self.assertEqual(names[:2], ["allocate", f"made_{size - CHILD:02d}"])


if __name__ == "__main__":
    tap.main()
