# SPDX-License-Identifier: MIT
"""The recorder's cached native stacks equal those of another unwinder, each time."""

import selftests
import tap
from recorded_run import RecordedRun, built

ONE, TWO = (built(f"libloaded-{name}.so") for name in ("one", "two"))


class Selftest(selftests.Selftest):
    def run_mode(self, name, times, *libraries):
        return RecordedRun([built("selftest"), name, str(times), *libraries], {"selftest": 1})

    def test_calls_exceptions_and_jumps(self):
        for name in ("calls", "exceptions", "jumps"):
            with self.subTest(name):
                self.check(self.run_mode(name, 200), 300)

    def test_signals_on_both_kinds_of_stack(self):
        self.check(self.run_mode("signals", 200), 300)

    def test_coroutines_on_stacks_that_come_and_go(self):
        self.check(self.run_mode("routines", 200), 300)

    def test_libraries_that_take_each_others_place(self):
        self.check(self.run_mode("libraries", 200, ONE, TWO), 300)

    def test_all_kinds_in_concurrent_threads(self):
        self.check(self.run_mode("threads", 5, ONE, TWO), 300)

    def test_all_kinds_in_random_order(self):
        self.check(self.run_mode("all", 60, ONE, TWO), 300)

    def test_every_nth_stack_is_compared_and_none_without_the_option(self):
        run = RecordedRun([built("selftest"), "calls", "50"])
        self.assertEqual([row for row in run.records("note") if "selftest" in row["text"]], [])


if __name__ == "__main__":
    tap.main()
