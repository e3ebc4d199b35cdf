# SPDX-License-Identifier: MIT
"""Recordings that several processes read in parallel give the same output as one after the other."""

import os
import pty
import signal
import subprocess
import time
import unittest

import cli

PROCESSORS = sorted(os.sched_getaffinity(0))


def run(arguments, processors, **more):
    """Runs a verb that may use only so many processors. Returns its exit code, stdout and stderr."""
    done = cli.run(*arguments, preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS[:processors]), **more)
    return done.returncode, done.stdout, done.stderr


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@unittest.skipIf(len(PROCESSORS) < 2, "needs two processors")
class Parallel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The lengths differ, so that later recordings finish first.
        cls.files = [
            cli.make(f"parallel-{number}.gmt.gz", events=events, sites=20 + number, live=100)
            for number, events in enumerate((300_000, 2000, 100_000, 10, 5000))
        ]

    def check(self, *arguments, **more):
        alone = run(arguments, 1, **more)
        self.assertEqual(run(arguments, 2, **more), alone)
        return alone

    def test_recordings_are_reported_in_the_order_of_the_command_line(self):
        for verb, *options in ("report", "--full"), ("report",), ("leaks",):
            with self.subTest(verb=verb, options=options):
                code, text, errors = self.check(verb, *options, *self.files)
                # The summary of the job shows the end of a long path.
                self.assertEqual((code, errors), (0, ""))
                places = [text.index(os.path.basename(path) + "\n") for path in self.files]
                self.assertEqual(places, sorted(places))
                code, listed, errors = self.check(verb, "--json", *self.files)
                self.assertEqual((code, errors), (0, ""))
                self.assertEqual([listed.count(path) > 0 for path in self.files], [True] * len(self.files))

    def test_an_unreadable_file_has_an_error_and_the_others_their_reports(self):
        for options in [], ["--json"]:
            code, text, errors = self.check("report", *options, "no-such-file", self.files[3], "another", self.files[1])
            self.assertEqual(code, 3)
            self.assertEqual([line.split(": ")[2] for line in errors.splitlines()], ["no-such-file", "another"])
            self.assertIn(self.files[1], text)

    def test_an_incomplete_recording_has_its_exit_code(self):
        cut = cli.place("parallel-cut.gmt.gz")
        with open(self.files[0], "rb") as file, open(cut, "wb") as part:
            part.write(file.read()[:100_000])
        self.assertEqual(self.check("report", "--strict", cut, *self.files)[0], 4)
        self.assertEqual(self.check("report", cut, *self.files)[0], 0)

    def test_memory_for_one_file_at_a_time_is_enough(self):
        def suffices(mebibytes, *files):
            return run([f"--max-memory={mebibytes}MiB", "report", *files], 1)[0] == 0

        least = next(mebibytes for mebibytes in range(1, 200) if suffices(mebibytes, self.files[0]))
        self.assertGreater(least, 2)
        code, _, errors = self.check(f"--max-memory={least}MiB", "report", self.files[0], self.files[2])
        self.assertEqual((code, errors), (0, ""))

    def test_a_recording_whose_process_was_killed_is_reported_too(self):
        large = cli.make("parallel-large.gmt.gz", events=3_000_000, sites=20, live=100)
        alone = run(["report", large, large], 1)
        program = subprocess.Popen(
            [cli.CLI, "report", large, large],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cli.FOLDER,
            env=cli.PLAIN,
        )
        deadline = time.monotonic() + 60
        while len(children_of(program.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        killed = children_of(program.pid)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        out, errors = program.communicate(timeout=120)
        self.assertEqual(len(killed), 2)
        self.assertEqual((program.returncode, out, errors), alone)

    def test_child_processes_use_the_colours_of_the_terminal(self):
        def on_a_terminal(processors):
            ours, theirs = pty.openpty()
            done = subprocess.Popen(
                [cli.CLI, "report", "--full", "--limit=1", *self.files[3:]],
                stdout=theirs,
                stderr=subprocess.PIPE,
                cwd=cli.FOLDER,
                env={**cli.PLAIN, "TERM": "xterm", "PAGER": "cat"},
                preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS[:processors]),
            )
            os.close(theirs)
            text = b""
            try:
                while piece := os.read(ours, 65536):
                    text += piece
            except OSError:
                pass  # the reader has closed its end
            os.close(ours)
            self.assertEqual(done.communicate(timeout=120)[1], b"")
            return text

        text = on_a_terminal(2)
        self.assertIn(b"\033[", text)
        self.assertEqual(text, on_a_terminal(1))


if __name__ == "__main__":
    cli.main()
