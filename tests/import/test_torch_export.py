# SPDX-License-Identifier: MIT
"""A recording as a snapshot of PyTorch and back: PyTorch's memory is the same."""

import unittest

import cli
import exports
import snapshots


class RoundTrip(unittest.TestCase):
    def check(self, path):
        snapshot = cli.place("exported.pickle")
        done = cli.run("export", "--format=torch", "--force", "-o", snapshot, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        back = snapshots.imported(snapshot)
        wanted = snapshots.numbers(path)
        self.assertTrue(wanted)
        self.assertEqual(snapshots.numbers(back), wanted)
        return back

    def test_a_recording_comes_back(self):
        for settings in {"events": 3000, "steps": 10}, {"events": 20000}:
            with self.subTest(settings=settings):
                self.check(cli.make("there.gmt.gz", **settings))

    def test_steps_come_back_as_metadata_of_events(self):
        path = cli.make("steps.gmt.gz", events=3000, steps=10)
        steps = cli.report(self.check(path))["steps"]
        self.assertEqual({step["source"] for step in steps}, {"program"})
        self.assertAlmostEqual(len(steps), len(cli.report(path)["steps"]), delta=1)

    def test_a_training_comes_back_with_its_lines(self):
        path = exports.training("training.gmt.gz")
        back = self.check(path)

        def lines(file):
            """Returns the lines, except for those whose names the export makes safe."""
            all_lines = (
                (*(site["stack"][site["own_frame"]][key] for key in ("file", "line")), site["peak_bytes"])
                for site in cli.report(file)["sites"]
                if site["layer"] == "torch" and site["peak_bytes"] and site["stack"]
            )
            return sorted(line for line in all_lines if line[0].startswith("/home/"))

        self.assertEqual(len(lines(path)), 4)
        self.assertEqual(lines(back), lines(path))

    def test_a_cut_export_says_so(self):
        snapshot = cli.place("cut.pickle")
        done = cli.run(
            "export",
            "--format=torch",
            "--max-events=500",
            "--force",
            "-o",
            snapshot,
            cli.make("long.gmt.gz", events=9000),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        back = snapshots.imported(snapshot)
        self.assertTrue(any("kept only the newest" in note for note in snapshots.notes(back)))
        wanted = snapshots.numbers(cli.place("long.gmt.gz"))
        for device, numbers in snapshots.numbers(back).items():
            for key in "live_bytes", "live_blocks":
                self.assertEqual(numbers[key], wanted[device][key])


if __name__ == "__main__":
    cli.main()
