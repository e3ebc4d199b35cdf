# SPDX-License-Identifier: MIT
"""`report --json --from` and `--phase`: what a stretch of a recording allocated, left and peaked at."""

import random
import unittest

import cli
import write_recording as w
from definitions import MarkKind, MarkSource
from recording import CUDA, PINNED, TORCH, MiB, Story

LINE = "/home/me/cell.py:{} in cell"
KEYS = ("allocs", "alloc_bytes", "left_bytes", "left_blocks", "peak_bytes", "peak_blocks")


def push(story, name):
    story.stamp += 10
    story.marks.append(w.mark(story.stamp, MarkKind.PUSH, MarkSource.PROGRAM, name=story.name(name)))


def pop(story):
    story.stamp += 10
    story.marks.append(w.mark(story.stamp, MarkKind.POP, MarkSource.PROGRAM))


def stretch(path, *arguments):
    (answer,) = cli.reports("report", *arguments, path)
    return answer


def sites(answer):
    """Returns the numbers of each line, by layer and line."""
    return {(one["layer"], one["stack"][0]["line"]): tuple(one[key] for key in KEYS) for one in answer["sites"]}


def account(answer, layer="torch", device=0):
    (row,) = [one for one in answer["accounts"] if (one["layer"], one["device"]) == (layer, device)]
    return row


class Stretch(unittest.TestCase):
    def story(self):
        """Makes two blocks, then a phase that frees one of them and leaves a new block, then a last block."""
        story = Story()
        first = story.alloc(4 * MiB, LINE.format(1))
        story.alloc(MiB, LINE.format(2))
        push(story, "In [1]")
        large = story.alloc(8 * MiB, LINE.format(3))
        story.free(first)
        story.free(large)
        story.alloc(MiB, LINE.format(3))
        story.alloc(512, LINE.format(4))
        pop(story)
        story.alloc(MiB, LINE.format(5))
        return story

    def test_a_phase_has_what_it_allocated_left_and_peaked_at(self):
        answer = stretch(self.story().write("one.gmt.gz"), "--phase", "In [1]")
        self.assertEqual(answer["schema"], "gpumemtrace.stretch/1")
        self.assertEqual(answer["phase"], "In [1]")
        self.assertTrue(answer["complete"])
        row = account(answer)
        self.assertEqual((row["begin_live_bytes"], row["begin_live_blocks"]), (5 * MiB, 2))
        self.assertEqual((row["peak_bytes"], row["peak_blocks"]), (13 * MiB, 3))
        self.assertEqual((row["end_live_bytes"], row["end_live_blocks"]), (2 * MiB + 512, 3))
        self.assertEqual((row["allocs"], row["alloc_bytes"]), (3, 9 * MiB + 512))
        self.assertEqual((row["frees"], row["freed_bytes"]), (2, 12 * MiB))
        self.assertEqual(
            sites(answer),
            {("torch", 3): (2, 9 * MiB, MiB, 1, 8 * MiB, 1), ("torch", 4): (1, 512, 512, 1, 0, 0)},
        )

    def test_a_stretch_that_is_no_phase_has_no_memory_of_a_phase(self):
        path = self.story().write("moment.gmt.gz")
        self.assertNotIn("memory", stretch(path, "--from=1ns"))
        self.assertIn("memory", stretch(path, "--phase=In [1]"))

    def test_a_limit_leaves_out_sites(self):
        path = self.story().write("limit.gmt.gz")
        whole, one = stretch(path, "--phase=In [1]"), stretch(path, "--phase=In [1]", "--limit=1")
        self.assertEqual((len(whole["sites"]), one["sites"]), (2, whole["sites"][:1]))
        self.assertEqual(one["accounts"], whole["accounts"])

    def test_the_last_phase_of_a_name_counts(self):
        story = self.story()
        push(story, "In [1]")
        push(story, "In [1]")
        story.alloc(3, LINE.format(6))
        pop(story)
        story.alloc(7, LINE.format(7))
        pop(story)
        path = story.write("again.gmt.gz")
        self.assertEqual(list(sites(stretch(path, "--phase", "In [1]"))), [("torch", 6)])

    def test_a_phase_that_is_still_open_ends_with_the_recording(self):
        story = self.story()
        push(story, "In [2]")
        story.alloc(3, LINE.format(6))
        path = story.write("open.gmt.gz")
        self.assertEqual(sites(stretch(path, "--phase", "In [2]")), {("torch", 6): (1, 3, 3, 1, 3, 1)})

    def test_a_phase_without_events_has_the_memory_that_lived(self):
        story = self.story()
        push(story, "In [2]")
        pop(story)
        answer = stretch(story.write("none.gmt.gz"), "--phase", "In [2]")
        self.assertEqual(answer["sites"], [])
        row = account(answer)
        self.assertEqual(row["begin_live_bytes"], 3 * MiB + 512)
        self.assertEqual((row["peak_bytes"], row["end_live_bytes"]), (3 * MiB + 512, 3 * MiB + 512))
        self.assertEqual((row["allocs"], row["frees"]), (0, 0))

    def test_from_the_beginning_is_the_whole_recording(self):
        path = self.story().write("whole.gmt.gz")
        whole = cli.report(path)
        answer = stretch(path, "--from=0")
        (layer,) = [one for one in whole["devices"][0]["layers"] if one["layer"] == "torch"]
        row = account(answer)
        self.assertEqual(row["alloc_bytes"], layer["total_alloc_bytes"])
        self.assertEqual((row["peak_bytes"], row["end_live_bytes"]), (layer["peak_bytes"], layer["live_bytes"]))
        self.assertEqual(
            {place: (numbers[1], numbers[2], numbers[4]) for place, numbers in sites(answer).items()},
            {
                ("torch", one["stack"][0]["line"]): (one["total_bytes"], one["live_bytes"], one["peak_bytes"])
                for one in whole["sites"]
            },
        )

    def test_random_stretches_equal_a_replay_in_python(self):
        chance = random.Random(21)
        story = Story()
        live, log = [], []
        for _ in range(600):
            if live and chance.random() < 0.48:
                address, *rest = live.pop(chance.randrange(len(live)))
                story.free(address)
                log.append((story.stamp, "free", address, *rest))
            else:
                layer = chance.choice((TORCH, CUDA))
                size, line = chance.randrange(1, 9 * MiB), chance.randrange(1, 6)
                address = story.alloc(size, LINE.format(line), layer=layer)
                live.append((address, size, layer, line))
                log.append((story.stamp, "alloc", address, size, layer, line))
        path = story.write("random.gmt.gz")
        for _ in range(8):
            begin, end = sorted(chance.sample(range(len(log)), 2))
            # A time between two events. The recording begins at stamp 1000; a tick is a nanosecond.
            times = [log[at][0] - START + 5 for at in (begin, end)]
            answer = stretch(path, f"--from={times[0]}ns", f"--until={times[1]}ns")
            for name, layer in ("torch", TORCH), ("cuda", CUDA):
                self.check_replay(answer, name, [row for row in log if row[4] == layer], *times)

    def check_replay(self, answer, name, log, begin, end):
        held = total = peak = 0
        lines, at_peak, young = {}, {}, {}
        for stamp, what, address, size, _, line in log:
            time = stamp - START
            if time > end:
                break
            is_inside = time > begin
            held += size if what == "alloc" else -size
            if not is_inside:
                peak = held
                continue
            row = lines.setdefault(line, [0, 0])
            if what == "alloc":
                young[address] = size
                total += size
                row[0] += size
                row[1] += size
            elif address in young:
                row[1] -= size
            if held > peak:
                peak = held
                at_peak = {one: numbers[1] for one, numbers in lines.items()}
        row = account(answer, name)
        self.assertEqual((row["peak_bytes"], row["end_live_bytes"], row["alloc_bytes"]), (peak, held, total))
        found = {line: numbers for (layer, line), numbers in sites(answer).items() if layer == name}
        for line, numbers in found.items():
            self.assertEqual((numbers[1], numbers[2]), tuple(lines[line]))
            self.assertEqual(numbers[4], at_peak.get(line, 0))
        self.assertEqual(set(found), {line for line, (size, _) in lines.items() if size})

    def test_host_memory_is_an_account_of_its_own(self):
        story = Story()
        push(story, "pin")
        story.alloc(4096, LINE.format(1), layer=CUDA, space=PINNED)
        pop(story)
        answer = stretch(story.write("host.gmt.gz"), "--phase=pin")
        self.assertEqual(account(answer, "cuda", None)["alloc_bytes"], 4096)
        self.assertEqual(answer["sites"][0]["space"], "pinned")

    def test_after_a_compaction_a_stretch_of_the_rest_has_the_same_numbers(self):
        story = self.story()
        for number in range(200):
            story.free(story.alloc(100 + number, LINE.format(8)))
        kept = story.alloc(5 * MiB, LINE.format(9))
        push(story, "In [2]")
        story.free(kept)
        story.alloc(6 * MiB, LINE.format(9))
        pop(story)
        path, small = story.write("long.gmt.gz"), cli.place("compacted.gmt.gz")
        done = cli.run("fold", path, "-o", small, "--keep-events=5", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [stretch(one, "--phase", "In [2]") for one in (path, small)]
        self.assertEqual(*(one["accounts"] for one in answers))
        self.assertEqual(*(sites(one) for one in answers))
        for words in (["--phase", "In [1]"], ["--from=1ns"]):
            done = cli.run("report", "--json", *words, small)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("in the compacted part, of which only totals are known", done.stderr)

    def test_what_a_cell_of_a_notebook_leaves_is_no_leak_of_its_phase(self):
        for name, leaks in ("In [12]", 0), ("In [12", 1), ("In []", 1), ("In [1] ", 1), ("evaluation", 1):
            with self.subTest(name=name):
                story = Story()
                story.alloc(MiB, LINE.format(1))
                for _ in range(2):
                    push(story, name)
                    story.alloc(4096, LINE.format(2))
                    pop(story)
                    story.step()
                found = cli.report(story.write("cells.gmt.gz"))["leaks"]
                self.assertEqual([one["definition"] for one in found], ["phase"] * leaks)

    def test_options_that_do_not_fit_are_refused(self):
        path = self.story().write("refused.gmt.gz")
        for words, message in (
            (["--phase=In [1]"], "--phase needs --json"),
            (["--from=0"], "--from needs --json"),
            (["--json", "--phase=In [1]", "--from=0"], "--from and --phase exclude each other"),
            (["--json", "--phase=In [1]", "--until=peak"], "--until and --phase exclude each other"),
            (["--json", "--phase=In [9]"], "there is no phase `In [9]`"),
            (["--json", "--from=step:3"], "there is no step 3"),
            (["--json", "--from=100ns", "--until=50ns"], "--until is before --from"),
        ):
            with self.subTest(words=words):
                done = cli.run("report", *words, path)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(message, done.stderr)


START = w.PROCESS["start_stamp"]

if __name__ == "__main__":
    cli.main()
