# SPDX-License-Identifier: MIT
"""Wrong calls have the same results as without the recorder, and are recorded as refused."""

import collections
import os
import subprocess
import sys
import unittest

import tap
from definitions import Kind
from recorded_run import SIMCUDA, SOURCE, RecordedRun, built

sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions

PROGRAM = built("misuse")
MACHINE = {"SIMCUDA_DEVICES": "2", "SIMCUDA_DRIVER_VERSION": "13040"}
# The kind of the event of a refused call, for each kind of call.
REFUSED = {
    "ALLOC": Kind.ALLOC_FAILED,
    "CREATE": Kind.ALLOC_FAILED,
    "NODE_ALLOC": Kind.ALLOC_FAILED,
    "FREE": Kind.FREE_FAILED,
    "DESTROY": Kind.FREE_FAILED,
    "UNMAP": Kind.FREE_FAILED,
    "UNBIND": Kind.FREE_FAILED,
    "NODE_FREE": Kind.FREE_FAILED,
}
OK = {"ALLOC": Kind.ALLOC, "FREE": Kind.FREE}


def rows():
    """Returns, for rows of hooks.def with an address, the kind and the number of the argument that is the address."""
    found = {}
    for row in cuda_functions.wrapped_rows():
        if row.kind:
            names = cuda_functions.split_arguments(row.arguments[1:-1])
            found[row.symbol] = row.kind, names.index(row.address) if row.address in names else None
    return found


class Calls:
    """The calls that the program printed, one tuple for each."""

    def __init__(self, text):
        self.all = [line.split() for line in text.splitlines()]

    def of(self, symbol):
        """Returns (choices, result, what was written)."""
        return [(row[2], int(row[3]), row[5]) for row in self.all if row[0] == symbol]


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recording = RecordedRun([PROGRAM], {"free_stacks": "on"}, environment=MACHINE)
        cls.calls = Calls(cls.recording.out)
        names = {row["id"]: row["name"] for row in cls.recording.records("api")}
        cls.events = [{**row, "name": names[row["api"]]} for row in cls.recording.records("event")]

    def test_results_errno_outputs_and_the_last_error_are_those_of_a_run_without_a_recorder(self):
        plain = subprocess.run(
            [PROGRAM],
            env={**os.environ, **MACHINE, "LD_LIBRARY_PATH": SIMCUDA},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((plain.returncode, self.recording.code), (0, 0), self.recording.err)
        self.assertEqual((self.recording.err, plain.stderr), ("", ""))
        without, with_recorder = plain.stdout.splitlines(), self.recording.out.splitlines()
        self.assertGreater(len(without), 7000)
        self.assertEqual(len(without), len(with_recorder))
        self.assertEqual([pair for pair in zip(without, with_recorder) if pair[0] != pair[1]], [])

    def test_calls_were_refused_throughout_and_for_many_reasons(self):
        refusals = collections.Counter((moment, result) for _, moment, _, result, *_ in self.calls.all if result != "0")
        for expected in (
            ("before", "3"),
            ("without", "201"),
            ("ended", "709"),
            ("with", "1"),
            ("with", "2"),
            ("with", "400"),
        ):
            self.assertGreater(refusals[expected], 20, expected)

    def test_each_refused_call_is_one_event_of_its_kind(self):
        self.assertTrue(self.recording.report()["complete"])
        self.assertEqual(self.recording.report()["events"]["dropped"], 0)
        seen = collections.Counter((row["name"], row["kind"]) for row in self.events)
        table = rows()
        self.assertGreater(len(table), 90)
        for symbol, (kind, address) in table.items():
            if kind not in REFUSED:
                continue
            expected = sum(
                result != 0 and (REFUSED[kind] == Kind.ALLOC_FAILED or choices[address] != "0")
                for choices, result, _ in self.calls.of(symbol)
            )
            with self.subTest(symbol):
                self.assertEqual(seen[symbol, REFUSED[kind]], expected)

    def test_each_successful_call_is_one_event_of_its_kind(self):
        seen = collections.Counter((row["name"], row["kind"]) for row in self.events)
        for symbol, (kind, address) in rows().items():
            if kind not in OK:
                continue
            # Calls write the address of an array or a block to the first argument. A registered address is an argument.
            expected = sum(
                result == 0 and (choices[address] != "0" if address is not None else written[0] == "w")
                for choices, result, written in self.calls.of(symbol)
            )
            with self.subTest(symbol):
                self.assertEqual(seen[symbol, OK[kind]], expected)

    def test_refused_events_have_the_error_that_the_caller_got_and_a_stack(self):
        results = collections.defaultdict(set)
        for name, _, _, result, *_ in self.calls.all:
            results[name].add(int(result))
        for row in self.events:
            if row["kind"] in (Kind.ALLOC_FAILED, Kind.FREE_FAILED):
                self.assertIn(row["result"], results[row["name"]] - {0}, row)
                self.assertNotEqual(row["stack"], 0, row)


if __name__ == "__main__":
    tap.main()
