# SPDX-License-Identifier: MIT
"""Faults while the recorder compacts its own file: the old file stays whole, no event is lost, a message says so."""

import glob
import os
import re
import time

import tap
from faulty import Faults, Host, fill, needs_mounts, report, tmpfs, wait_until

EVENTS = 30000  # calls to each of two functions in a round: more than a compaction waits for
MAX_ROUNDS = 50
ROUND_S = 2  # A recorder that is not busy compacts in this time.
LIVE_BLOCKS = 1000000  # blocks, of which 1 MiB has no space for two lists: one takes at least 1.5 bytes a block
COMPACTED = "compacted; "
NOT_COMPACTED = "older events could not be compacted"


def host(faults="", only=".fold", **more):
    """Starts a host that compacts as often as it can. The faults hit calls about the new file (`only`)."""
    injected = {"FAULTS": faults, **({"FAULTS_FILE": only} if only else {})} if faults else {}
    return Host(
        options={"stacks": "none", "mode": "window", "window": "1000", "overflow": "wait", "verbosity": "2"},
        faults={**injected, **more.pop("also", {})},
        **more,
    )


class Compactions(Faults):
    """The recording loses no event if a compaction fails."""

    def send_rounds_until(self, host, text):
        """
        Lets the program make rounds of events until the recorder prints `text`. Returns the number of events.

        One round is usually enough. On a busy machine the program may end a round before the recorder cuts the file.
        The recorder compacts only when more events follow the cut.
        """
        for rounds in range(1, MAX_ROUNDS + 1):
            host(f"events {EVENTS}")
            deadline = time.monotonic() + ROUND_S
            while not host.has_message(text) and time.monotonic() < deadline:
                time.sleep(0.01)
            if host.has_message(text):
                print(f"# {host.faults.get('FAULTS', 'no fault')}: {rounds} rounds until: {text}")
                return 2 * EVENTS * rounds
        raise AssertionError(f"after {MAX_ROUNDS} rounds there is no message '{text}': {host.messages}")

    def check_whole(self, host, events):
        self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
        self.assertEqual((host.count_events(), host.dropped()), (events, 0))
        self.assertTrue(host.report()["complete"])
        self.assertEqual(glob.glob(os.path.join(host.folder, "*.fold*")), [])

    def check_not_compacted(self, host, events, words):
        """Checks that stderr and the file each report the failed compaction once, and that the file has all events."""
        self.check_whole(host, events)
        messages = [line for line in host.messages if NOT_COMPACTED in line]
        self.assertEqual(len(messages), 1, host.messages)
        self.assertIn(words, messages[0])
        self.assertEqual(sum(NOT_COMPACTED in note and words in note for note in host.notes()), 1, host.notes())
        self.assertFalse(host.has_message(COMPACTED), host.messages)
        self.assertNotIn("folded", host.report())

    def test_after_a_failed_write_to_the_new_file_the_old_file_has_all_events(self):
        hosts = []
        for fault, words in (
            ("write=ENOSPC", "No space"),
            ("write=EIO", "Input/output"),
            ("pwrite=ENOSPC", "No space"),
            ("pwrite=EDQUOT", "quota"),
            ("fdatasync=EIO", "Input/output"),
            ("fdatasync=ENOSPC", "No space"),
            ("fdatasync=ESTALE", "Stale"),
            ("rename=EACCES", "Permission"),
            ("rename=EIO", "Input/output"),
            ("open=EMFILE", "Too many open files"),
        ):
            hosts.append((fault, words, host(fault)))
        for fault, words, one in hosts:
            with self.subTest(fault):
                events = self.send_rounds_until(one, NOT_COMPACTED)
                one(f"events {EVENTS}", "pause 1000")
                one.end()
                self.check_not_compacted(one, events + 2 * EVENTS, words)

    def test_an_old_file_that_cannot_be_read_stays_as_it_is(self):
        one = host("pread=EIO", only=".gmt.gz")
        events = self.send_rounds_until(one, NOT_COMPACTED)
        one("events 10", "pause 1000")
        one.end()
        self.check_not_compacted(one, events + 20, "Input/output")

    def test_a_disk_that_the_new_file_filled_takes_events_after_its_removal(self):
        """A write to the recording finds the disk full. There is space again when the new file is removed."""
        one = host("write=ENOSPC", only=".gmt.gz", also={"FAULTS_DURING_REPLACEMENT": ".fold"})
        events = self.send_rounds_until(one, NOT_COMPACTED)
        one(f"events {EVENTS}", "pause 1000")
        one.end()
        self.check_not_compacted(one, events + 2 * EVENTS, "the disk has no space for both files")

    @needs_mounts
    def test_a_disk_with_space_for_one_file_keeps_all_events(self):
        with tmpfs("size=8m") as folder:
            one = host(folder=folder)
            one("events 1000")
            one.wait_for_events(2000)
            fill(folder, keep_bytes=1 << 20)
            one(f"events {EVENTS}", "pause 1000")
            one.end()
            # It depends on timing whether a write fails, and in which of the two files.
            self.assertEqual((one.count_events(), one.dropped()), (2 * EVENTS + 2000, 0), one.messages)
            self.assertEqual(glob.glob(os.path.join(folder, "*.fold*")), [])

    def test_max_size_loses_nothing_while_live_blocks_take_less_than_half(self):
        """With less space, a compaction gains less. The program waits for each compaction that gains any space."""
        for kept in 100000, 175000:
            with self.subTest(kept=kept):
                one = Host(options={"stacks": "none", "max_size": "1MiB", "overflow": "wait", "verbosity": "2"})
                one(f"keep {kept}")
                # The number of events in a compaction depends on the duration of the compaction.
                rounds = 0
                while rounds < 20 or sum(COMPACTED in line for line in one.messages) < 2:
                    one("events 10000")
                    rounds += 1
                    self.assertLess(rounds, 2000, one.messages)
                one.end()
                self.assertNotIn("the file reached max_size", {row["reason"] for row in one.records("drop")})
                # On a busy machine a compaction may be slower than the events, and the rings drop some.
                if not one.dropped():
                    (layer,) = (row for row in one.report()["devices"][0]["layers"] if row["layer"] == "cuda")
                    self.assertEqual((layer["live_blocks"], layer["free_count"]), (kept, 10000 * rounds))

    def test_a_max_size_that_is_too_small_for_the_live_blocks_is_reported_with_one_that_suffices(self):
        def run(max_size, rounds):
            """Runs some rounds. Pauses after each one, because the recorder cuts the file once a second."""
            one = Host(options={"stacks": "none", "max_size": max_size, "overflow": "wait"})
            one(f"keep {LIVE_BLOCKS}")
            for _ in range(rounds):
                one("events 10000", "pause 1100")
                if one.has_message(NOT_COMPACTED):
                    break
            one.end()
            self.assertEqual(("".join(one.out), one.code), one.plain(), one.messages)
            return [line for line in one.messages if NOT_COMPACTED in line]

        messages, sizes = run("1MiB", 20), [1]
        # The suggested size suffices for the blocks that are live at that moment. On a busy machine, more may follow.
        while messages and len(sizes) < 5:
            self.assertIn("the new file does not fit into max_size", messages[0])
            sizes.append(int(re.search(r"\(max_size=(\d+)MiB is enough\)", messages[0])[1]))
            self.assertGreater(sizes[-1], sizes[-2])
            messages = run(f"{sizes[-1]}MiB", 4)
        self.assertEqual(messages, [], sizes)
        self.assertGreater(len(sizes), 1)

    def test_a_file_that_cannot_be_flushed_is_compacted(self):
        for fault in "fdatasync=EINVAL", "fdatasync=EPERM":
            with self.subTest(fault):
                one = host(fault)
                events = self.send_rounds_until(one, COMPACTED)
                one.end()
                self.check_whole(one, events)
                self.assertIn("folded", one.report())

    def test_a_slow_disk_delays_only_the_first_compaction(self):
        one = host("fdatasync=SLOW")
        for _ in range(6):
            one(f"events {EVENTS}")
        wait_until(lambda: sum(COMPACTED in line for line in one.messages) > 1, "a second compaction")
        one.end()
        self.check_whole(one, 12 * EVENTS)
        self.assertEqual(sum("no longer waits for it" in line for line in one.messages), 1, one.messages)

    def test_forks_during_a_compaction_do_not_change_the_file(self):
        one = host()
        for _ in range(4):
            one("forks 40", "events 20000")
        wait_until(lambda: sum(COMPACTED in line for line in one.messages) > 1, "a second compaction")
        one.end()
        self.check_whole(one, 4 * (2 * 500 * 40 + 40000))

    def test_ranks_that_fold_in_one_folder_at_the_same_time_do_not_disturb_each_other(self):
        first = host()
        ranks = [first, *(host(folder=first.folder) for _ in range(3))]
        for _ in range(3):
            for one in ranks:
                one.commands.append(f"events {EVENTS}")
                one.process.stdin.write(f"events {EVENTS}\n")
                one.process.stdin.flush()
            for one in ranks:
                one.out.append(one.process.stdout.readline())
        for one in ranks:
            one.wait_for(COMPACTED)
        for one in ranks:
            one.end()
            self.assertEqual(one.code, 0)
            self.assertFalse(one.has_message(NOT_COMPACTED), one.messages)
            self.assertTrue(one.has_message(COMPACTED), one.messages)
        files = sorted(os.listdir(first.folder))
        self.assertEqual(
            files,
            sorted(
                [f"{one.process.pid}.gmt.gz" for one in ranks] + [name for name in files if name in ("stderr", "plain")]
            ),
        )
        for one in ranks:
            path = os.path.join(first.folder, f"{one.process.pid}.gmt.gz")
            (layer,) = (row for row in report(path)["devices"][0]["layers"] if row["layer"] == "cuda")
            self.assertEqual(layer["alloc_count"] + layer["free_count"], 6 * EVENTS)


if __name__ == "__main__":
    tap.main()
