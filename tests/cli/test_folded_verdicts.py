# SPDX-License-Identifier: MIT
"""What leaks and check say of a folded recording: what they say of the whole one, or that they do not judge."""
import json
import unittest

import cli
import write_snapshot as w

STEPS = 30


def without_curves(name, teardown_stamp=None):
    """A recording that a fold without curves made: 30 steps in totals only, each of which left a block."""
    event = {"thread": 1, "kind": 1, "layer": 2, "space": 1, "device": 0, "size_bytes": 1024, "frames": 1}
    marks = [{"stamp": 2000 + 10 * step, "thread": 1, "kind": 1, "source": 1} for step in range(1, STEPS + 1)]
    if teardown_stamp:
        marks.append({"stamp": teardown_stamp, "thread": 1, "kind": 7, "source": 4})
    path = cli.place(name)
    w.write(path, w.process(), w.block("thread", {"id": 1, "tid": 7}),
            w.block("code", {"id": 1, "function": "train", "file": "/home/me/train.py", "first_line": 1}),
            w.block("frame", {"id": 1, "code": 1, "line": 7}), w.block("frames", {"id": 1, "items": [3]}),
            w.block("event", *({**event, "stamp": 1995 + 10 * step, "address": 4096 * step} for step in range(1, STEPS + 1))),
            w.block("mark", *marks),
            w.block("past_account", {"layer": 2, "device": 0, "live_bytes": 1024 * STEPS, "live_blocks": STEPS,
                                     "alloc_count": 10 * STEPS}),
            w.block("past_site", {"layer": 2, "device": 0, "space": 1, "frames": 1, "thread": 1, "alloc_count": 10 * STEPS}),
            w.block("fold", {"stamp": 2000 + 10 * STEPS + 100, "events": 20 * STEPS, "survivors": STEPS, "why": "max_size"}),
            w.end(20 * STEPS, stamp=4000))
    return path


def leaks(path, *options):
    done = cli.run("leaks", "--json", path, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class NotJudged(unittest.TestCase):
    def test_growth_of_steps_that_are_in_totals_only_is_not_judged_and_the_reason_is_said(self):
        path = without_curves("no-curves.gmt.gz")
        answer = leaks(path)
        self.assertEqual(answer["leaks"], [])
        self.assertIn("in totals only", answer["growth_not_judged"])
        self.assertEqual((answer["phases_not_judged"], answer["end_not_judged"]), (None, None))
        for verb in "leaks", "report":
            text = cli.run(verb, path).stdout
            self.assertIn("Leaks: none found in what could be judged over 30 steps", text)
            self.assertIn(f"growth was not judged: {answer['growth_not_judged']}", text)
        self.assertEqual(cli.report(path)["growth_not_judged"], answer["growth_not_judged"])

    def test_check_never_says_that_growth_holds_which_it_did_not_judge_and_strict_fails(self):
        path = without_curves("no-curves.gmt.gz")
        done = cli.run("check", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped GMT002 growth: torch on GPU 0: not judged: ", done.stdout)
        self.assertNotIn("no lasting growth", done.stdout)
        self.assertIn("GMT008 incomplete", done.stdout)
        self.assertIn("not judged: growth: ", done.stdout)
        for verb in "check", "leaks", "report":
            self.assertEqual(cli.run(verb, "--strict", path).returncode, 4, verb)
        # Growth that is asked for, and cannot be judged, fails.
        self.assertEqual(cli.run("check", "--max-growth=1MiB/step", path).returncode, 1)

    def test_what_lived_at_an_end_of_the_work_that_was_folded_is_not_judged(self):
        path = without_curves("no-end.gmt.gz", teardown_stamp=2000 + 10 * STEPS + 50)
        answer = leaks(path, "--definition=exit")
        self.assertIn("in totals only", answer["end_not_judged"])
        self.assertIn("age, exit and cached memory were not judged", cli.run("leaks", path).stdout)
        done = cli.run("check", "--definition=exit", "--max-leaked=1GiB", path)
        self.assertIn("skipped GMT001 leak: torch on GPU 0: not judged: what lived at the end of the program's work", done.stdout)
        # What outlived the fold was found, whatever else there was.
        self.assertEqual(cli.run("check", "--definition=exit", path).returncode, 1)


if __name__ == "__main__":
    cli.main()
