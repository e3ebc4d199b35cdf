# SPDX-License-Identifier: MIT
"""`gpumemtrace top` on a terminal: keys, signals, sizes."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import unittest

import tap
import tasks
from recorded_run import CLI
from running import Running


class Terminal:
    """`top` on a terminal of 100 columns and 30 lines."""

    def __init__(self, run, *arguments):
        self.shown = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(run.environment, TERM="xterm", LC_ALL="C.UTF-8")
            os.execv(CLI, [CLI, "top", "--interval=100ms", *arguments])
        self.modes = termios.tcgetattr(self.fd)
        self.resize(30, 100)

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.1):
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return self.shown
            if not data:
                return self.shown
            self.shown += data
            seconds = 0
        return self.shown

    def frame(self):
        """Returns the text of the last whole frame."""
        whole = self.read().rsplit(b"\x1b[J", 1)[0]
        return re.sub(r"\x1b\[[\d;]*m", "", whole.rsplit(b"\x1b[H", 1)[-1].decode())

    def wait_for(self, words):
        tasks.wait_until(lambda: words in self.frame(), f"{words!r} on the screen: {self.frame()}")

    def press(self, keys):
        os.write(self.fd, keys)

    def end(self):
        """Returns how the program ended, and whether the terminal is as it was."""
        tasks.wait_until(lambda: self.read() is not None and self.is_over(), "the end of top")
        return self.status, self.shown

    def is_over(self):
        pid, self.status = os.waitpid(self.pid, os.WNOHANG)
        return pid == self.pid


LEAVE = b"\x1b[?25h\x1b[?1049l"


class Screen(unittest.TestCase):
    def test_keys_choose_what_is_shown_and_q_leaves(self):
        with Running() as run:
            run.send("alloc 1048576", "alloc 2097152")
            terminal = Terminal(run, run.path)
            terminal.wait_for("take (")
            self.assertIn("3.00 MiB", terminal.frame())
            for line in terminal.frame().splitlines():
                self.assertLessEqual(len(line), 100)
            terminal.press(b"h")
            terminal.wait_for("sort by growth")
            terminal.press(b"h")
            terminal.wait_for("take (")
            # The next layers are cuda and torch; torch has nothing.
            terminal.press(b"yy")
            terminal.wait_for("nothing is live")
            terminal.press(b" ")
            terminal.wait_for("space go on")
            terminal.press(b"q")
            status, shown = terminal.end()
            self.assertEqual(status, 0)
            self.assertTrue(shown.endswith(LEAVE), shown[-100:])
            self.assertEqual(shown.count(b"\x1b[?1049h"), 1)
            run.end()

    def test_the_process_is_chosen_with_the_arrow_keys(self):
        with Running() as first:
            with Running(environment={"XDG_RUNTIME_DIR": first.runtime}, runtime=False) as second:
                first.send("alloc 1048576")
                second.send("alloc 1048576")
                terminal = Terminal(first, first.pid(), second.pid())
                terminal.wait_for("1 of 2")
                terminal.wait_for("pid ")
                before = re.search(r"pid (\d+)", terminal.frame()).group(1)
                terminal.press(b"\x1b[C")
                terminal.wait_for("2 of 2")
                terminal.wait_for("pid ")
                after = re.search(r"pid (\d+)", terminal.frame()).group(1)
                self.assertEqual({before, after}, {str(first.process.pid), str(second.process.pid)})
                terminal.press(b"q")
                self.assertEqual(terminal.end()[0], 0)

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        for number in signal.SIGINT, signal.SIGTERM:
            with Running() as run:
                run.send("alloc 1048576")
                terminal = Terminal(run, run.path)
                terminal.wait_for("take (")
                os.kill(terminal.pid, number)
                status, shown = terminal.end()
                self.assertEqual(os.WTERMSIG(status), number)
                self.assertTrue(shown.endswith(LEAVE), shown[-100:])

    def test_a_stop_leaves_the_terminal_and_the_screen_comes_back(self):
        # The terminal's only process cannot be stopped, so it continues at once.
        with Running() as run:
            run.send("alloc 1048576")
            terminal = Terminal(run, run.path)
            terminal.wait_for("take (")
            os.kill(terminal.pid, signal.SIGTSTP)
            tasks.wait_until(
                lambda: terminal.read().count(b"\x1b[?1049h") == 2 and LEAVE in terminal.shown, "the screen again"
            )
            terminal.wait_for("take (")
            terminal.press(b"q")
            self.assertEqual(terminal.end()[0], 0)

    def test_a_frozen_screen_keeps_its_numbers_and_follows_keys(self):
        with Running() as run:
            run.send("alloc 1048576")
            terminal = Terminal(run, run.path)
            terminal.wait_for("1.00 MiB")
            terminal.press(b" ")
            terminal.wait_for("space go on")
            run.send("alloc 1048576")
            terminal.press(b"h")
            terminal.wait_for("sort by growth")
            terminal.press(b"h")
            terminal.wait_for("take (")
            self.assertIn("1.00 MiB", terminal.frame())
            terminal.press(b" ")
            terminal.wait_for("2.00 MiB")
            terminal.press(b"q")
            terminal.end()

    def test_a_smaller_terminal_gets_shorter_lines(self):
        with Running() as run:
            run.send("alloc 1048576")
            terminal = Terminal(run, run.path)
            terminal.wait_for("take (")
            terminal.resize(12, 60)
            terminal.wait_for("q leave")
            tasks.wait_until(lambda: max(map(len, terminal.frame().splitlines())) <= 60, "lines of 60 columns")
            self.assertLess(len(terminal.frame().splitlines()), 13)
            terminal.press(b"q")
            terminal.end()

    def test_a_process_that_begins_later_appears(self):
        with Running() as run:
            terminal = Terminal(run, run.path)
            terminal.wait_for("No such file")
            run.send("alloc 1048576")
            terminal.wait_for("take (")
            terminal.press(b"q")
            terminal.end()


if __name__ == "__main__":
    tap.main()
