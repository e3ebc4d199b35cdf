# SPDX-License-Identifier: MIT
"""Programs that use CUDA in odd ways see no difference: output, end, files, and the state of each of their processes.

They run on a driver without locks. Only the recorder's own file, threads and descriptors with high numbers may differ.
All results of the program's calls, and every byte of its memory, must be the same.
"""

import re
import unittest

import host_programs
import recorded_run
import tap
import witnessed
from recorded_run import built

DRIVER = built("driver")
HOST, LINKED = built("cuda-host"), built("cuda-host-linked")
KIB = 1024
# Sizes of stacks for the handler or routine itself. Without the recorder each size is enough.
SIGNAL_STACKS = (3 * KIB, 4 * KIB, 6 * KIB, 8 * KIB, 10 * KIB, 12 * KIB, 14 * KIB, 16 * KIB)
ROUTINE_STACKS = (4 * KIB, 6 * KIB, 8 * KIB, 12 * KIB, 16 * KIB, 24 * KIB, 64 * KIB)
THREAD_STACKS = (16 * KIB, 20 * KIB, 24 * KIB, 32 * KIB, 64 * KIB)

# case -> end without the recorder
CASES = {
    "forks_in_handlers": "exit 0",
    "jump": "exit 0",
    "nested_jumps": "exit 0",
    "cancel": "exit 0",
    "signals": "exit 0",
    "pending": "exit 0",
    "low_descriptors": "exit 0",
    "few_descriptors": "exit 0",
    "children": "exit 0",
    "forked_child": "exit 0",
    "state": "exit 0",
    "errno": "exit 0",
    "registers": "exit 0",
    "dlerror": "exit 0",
    "edges": "exit 0",
    "no_children": "exit 0",
    "own_malloc": "exit 0",
    "raw_exits": "exit 5",
    "raw_exit_group": "exit 4",
    "exit_of_thread": "exit 6",
    "exit_with_threads": "exit 7",
    "abort": "signal 6",
    "crash": "signal 11",
    "kill 15": "signal 15",
    "kill 9": "signal 9",
    "quick_exit": "exit 8",
    "end_of_main": "exit 0",
}
SAYS = {
    "forks_in_handlers": b"200 children, 0 ended in another way\n",
    "jump": b"20 jumps\n",
    "nested_jumps": b"20 jumps\n",
    "cancel": b"cleaned up\ncancelled\n",
    "low_descriptors": b"0 redirections got another number\n",
    "own_malloc": b"0 calls of malloc\n",
    "edges": b"0 bytes between",
    "signals": b"",
    "registers": b"",
}


def is_the_recorders(fact):
    """Returns whether a recording process may differ in this fact when the witnesses look."""
    # libc handles its own signals from a process's first thread on.
    if fact in ("threads", "mapped", "memory", "signal 32", "signal 33"):
        return True
    found = re.match(r"descriptor (\d+)$", fact)
    return bool(found) and int(found.group(1)) >= 100


def row(program, case, end, expected_text=b""):
    return host_programs.Host(
        case,
        [program, *case.split()],
        expected_end=end,
        expected_text=expected_text,
        environment={
            "GPUMEMTRACE_OPTIONS": "output='recorded.%p.gmt.gz'",
            "PROCESS_FACTS": host_programs.program("process-facts"),
        },
        ignored=(r"work/recorded\.\d+\.gmt\.gz$",),
    )


class CudaHosts(unittest.TestCase):
    maxDiff = None

    def check(self, host):
        different, compared, plain = witnessed.compare_row(host, DRIVER, is_expected=is_the_recorders)
        if different:
            self.fail(different[:6000])
        self.assertEqual(plain.outcome.end, host.expected_end, plain.outcome.err[-1500:])
        self.assertIn(host.expected_text, plain.outcome.out)
        self.assertGreater(compared, 0)

    def check_stacks(self, case, sizes):
        for size in sizes:
            with self.subTest(f"{case} of {size} bytes"):
                self.check(row(HOST, f"{case} {size}", "exit 0", b"0 bytes below the stack changed\n"))

    def test_no_byte_below_a_signal_stack_inside_the_threads_own_is_changed(self):
        self.check_stacks("signal_stack", SIGNAL_STACKS)

    def test_no_byte_below_a_signal_stack_of_the_programs_own_is_changed(self):
        self.check_stacks("own_signal_stack", SIGNAL_STACKS)

    def test_no_byte_below_a_routines_stack_is_changed(self):
        self.check_stacks("coroutine", ROUTINE_STACKS)

    def test_no_byte_below_a_threads_stack_of_the_programs_own_is_changed(self):
        self.check_stacks("thread_stack", THREAD_STACKS)

    def test_a_linked_library_that_allocates_and_frees_outside_main_behaves_the_same(self):
        self.check(row(LINKED, "errno", "exit 0", b"library: begins\nlibrary: ends\nlibrary: handler at exit\n"))

    def test_each_program_was_recorded(self):
        """Without this test, a recorder that never began would pass the comparison."""
        run = recorded_run.RecordedRun([HOST, "errno"], libraries=DRIVER)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(run.events()), 24)


def behaves(case, end):
    def test(self):
        self.check(row(HOST, case, end, SAYS.get(case, b"")))

    return test


for name, way in CASES.items():
    setattr(CudaHosts, "test_" + re.sub(r"\W+", "_", name) + "_is_the_same", behaves(name, way))

if __name__ == "__main__":
    tap.main()
