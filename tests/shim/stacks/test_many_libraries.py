# SPDX-License-Identifier: MIT
"""A process with thousands of libraries, some of which it closes and opens again: stacks, names and costs."""

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

import tap
from callgrind import VALGRIND, instructions_of_threads
from recorded_run import CLI, RecordedRun, built

PROGRAM = built("many-libraries")
COUNT = 2000
FEW, MORE = 100, 400  # under callgrind
EVERY = 3
IN_TURNS = 8
DESCRIPTORS = 64


class Libraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        with open(built("libmany-library.so"), "rb") as file:
            template = file.read()
        # Changes the name in the symbol table and the build-id. The loader reads neither of them.
        assert template.count(b"many_number_0000\0") >= 1 and template.count(b"many-library-0000") == 1
        for number in range(COUNT):
            digits = b"%04d" % number
            with open(os.path.join(cls.folder, f"{number:04}.so"), "wb") as file:
                file.write(
                    template.replace(b"many_number_0000\0", b"many_number_" + digits + b"\0").replace(
                        b"many-library-0000", b"many-library-" + digits
                    )
                )

    def command(self, count, again=0):
        return [PROGRAM, self.folder, str(count), str(again)]

    def report_with_few_descriptors(self, path):
        """Reads with a limit of open files that is below the number of libraries. A common limit is 1,024."""

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

        done = subprocess.run(
            [CLI, "report", "--json", path], capture_output=True, text=True, timeout=300, preexec_fn=limit
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_stacks_and_names_are_right_while_libraries_come_and_go(self):
        run = RecordedRun(self.command(COUNT), timeout=600)
        self.assertEqual((run.code, run.err), (0, ""))
        began = time.monotonic()
        found = self.report_with_few_descriptors(run.file)
        print(f"# the report took {time.monotonic() - began:.1f} s")
        self.assertTrue(found["complete"])
        seen = {}
        for site in found["sites"]:
            if site["layer"] != "cuda":
                continue
            names = [(frame["function"] or "").split("(")[0] for frame in site["stack"]]
            self.assertEqual(
                [name for name in names if not name.startswith(("__libc", "libc.so.6+"))],
                ["allocate_block", names[1], "many_entry", "allocate", "main", "_start"],
            )
            number = int(re.fullmatch(r"many_number_(\d{4})", names[1]).group(1))
            # A library that was opened again may have another address.
            calls, total = seen.get(number, (0, 0))
            seen[number] = calls + site["allocs"], total + site["total_bytes"]
        self.assertEqual(
            seen,
            {number: (2, 101000 + 2 * number if number % EVERY else 201000 + 2 * number) for number in range(COUNT)},
        )

    def instructions(self, count, again, options="verbosity=0"):
        """Returns the instructions of the program's thread."""
        return instructions_of_threads(options, self.command(count, again))[1]

    @unittest.skipUnless(VALGRIND, "valgrind is not here")
    def test_more_libraries_make_neither_events_nor_libraries_cost_more(self):
        times = 1000
        per_event, per_library = {}, {}
        for count in FEW, MORE:
            once = self.instructions(count, 0)
            per_event[count] = (self.instructions(count, times) - once) / (times * IN_TURNS)
            per_library[count] = (once - self.instructions(count, 0, None)) / count
        print(f"# instructions of an event: {per_event}, of a library: {per_library}")
        self.assertLess(per_event[MORE], 1.1 * per_event[FEW])
        # Both numbers include the start of the recorder.
        self.assertLess(per_library[MORE], 1.1 * per_library[FEW])


if __name__ == "__main__":
    tap.main()
