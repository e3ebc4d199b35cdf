# SPDX-License-Identifier: MIT
"""Signals while a pager shows the text: the messages that wait for its end are written once, after it."""

import os
import pty
import select
import signal
import subprocess
import threading
import unittest

import cli
import tasks

PROCESSORS = sorted(os.sched_getaffinity(0))


class Terminal:
    """The program on a terminal of its own, with a pager. A thread reads what the terminal gets."""

    def __init__(self, pager, *arguments, reads=True):
        self.main, secondary = pty.openpty()
        self.name = os.ttyname(secondary)
        self.program = subprocess.Popen(
            [cli.CLI, *arguments],
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            env={**cli.PLAIN, "TERM": "xterm", "NO_COLOR": "1", "PAGER": pager},
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS[:2]),
        )
        os.close(secondary)
        self.got = b""
        self.thread = threading.Thread(target=self.read_all)
        if reads:
            self.thread.start()

    def read_some(self, max_bytes):
        """Reads what the terminal gets. Returns False at the end."""
        try:
            piece = os.read(self.main, max_bytes)
        except OSError:
            return False
        self.got += piece
        return bool(piece)

    def read_all(self):
        while self.read_some(65536):
            pass

    def end(self):
        """Returns the lines that the terminal got."""
        if self.thread.is_alive():
            self.thread.join(tasks.WAIT_LIMIT_S)
        else:
            self.read_all()
        self.program.wait(tasks.WAIT_LIMIT_S)
        os.close(self.main)
        return self.got.decode().replace("\r\n", "\n").splitlines()

    def children(self):
        """Returns the states of the program's children by process, and the file that each has as its stdout."""
        pid, states = self.program.pid, {}
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            try:
                with open(f"/proc/{child}/stat", encoding="ascii") as file:
                    state = file.read().rpartition(") ")[2][0]
                with open(f"/proc/{child}/comm", encoding="ascii") as file:
                    name = file.read().strip()
                out = os.readlink(f"/proc/{child}/fd/1") if state not in "ZX" else None
            except OSError:
                continue
            states[child] = (name, state, out)
        return states

    def reports_since_the_pager(self):
        """Returns how many child processes that report were started after the pager."""
        return sum(name == "gpumemtrace" and out not in (None, self.name) for name, _, out in self.children().values())

    def has_only_the_pager(self):
        return all(state in "ZX" for name, state, _ in self.children().values() if name == "gpumemtrace")


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.small = cli.make("pager-small.gmt.gz", events=100)

    @unittest.skipIf(len(PROCESSORS) < 2, "needs two processors")
    def test_ctrl_c_during_several_reports_writes_no_message_over_the_pager(self):
        large = cli.make("pager-large.gmt.gz", events=3_000_000, sites=20, live=100)
        opened, closed = cli.place("pager-opened"), cli.place("pager-closed")
        pager = f"""
            trap '' INT
            : >{opened}
            cat >/dev/null
            while ! [ -e {closed} ]; do sleep 0.01; done
            echo the pager ends"""
        terminal = Terminal(pager, "report", "--full", self.small, "no-such.gmt.gz", self.small, *[large] * 4)
        tasks.wait_until(lambda: os.path.exists(opened), "a pager is started")
        # Two processes report at a time. When both are younger than the pager, the second file's message is held.
        tasks.wait_until(lambda: terminal.reports_since_the_pager() == 2, "two reports are started after the pager")
        os.killpg(terminal.program.pid, signal.SIGINT)
        tasks.wait_until(terminal.has_only_the_pager, "Ctrl-C ends the reports")
        with open(closed, "w", encoding="utf-8"):
            pass
        lines = terminal.end()
        self.assertEqual(lines, ["the pager ends", "gpumemtrace: error: no-such.gmt.gz: No such file or directory"])
        self.assertEqual(terminal.program.returncode, -signal.SIGINT)

    def test_sigterm_loses_no_message(self):
        pager = "cat >/dev/null; kill -TERM $PPID; sleep 0.2; echo the pager ends"
        terminal = Terminal(pager, "report", "--full", self.small, "no-such.gmt.gz")
        lines = terminal.end()
        self.assertEqual(lines, ["the pager ends", "gpumemtrace: error: no-such.gmt.gz: No such file or directory"])
        self.assertEqual(terminal.program.returncode, -signal.SIGTERM)

    def test_a_program_that_is_stopped_while_it_writes_messages_loses_none(self):
        missing = [f"no-such-{number:04}.gmt.gz" for number in range(3000)]
        terminal = Terminal("cat >/dev/null", "report", "--full", self.small, *missing, reads=False)
        while True:
            # The terminal takes no more until someone reads. A signal then ends the write after a part of its bytes.
            for number in signal.SIGSTOP, signal.SIGCONT:
                os.kill(terminal.program.pid, number)
            if select.select([terminal.main], [], [], 0.1)[0] and not terminal.read_some(700):
                break
        lines = terminal.end()
        self.assertEqual(lines, [f"gpumemtrace: error: {name}: No such file or directory" for name in missing])


if __name__ == "__main__":
    cli.main()
