# SPDX-License-Identifier: MIT
"""`gpumemtrace top` shows running, ended and killed processes with the numbers of `report`, and never touches them."""

import json
import os
import signal
import subprocess
import time
import unittest

import tap
import tasks
from recorded_run import CLI, report
from running import MiB, Running, gpu, top, wait_for_row


def reported_layers(path):
    """Returns the numbers of each layer and device in the report."""
    return {
        (layer["layer"], device["device"]): layer for device in report(path)["devices"] for layer in device["layers"]
    }


class Numbers(unittest.TestCase):
    def test_a_running_process_has_the_numbers_that_its_report_has_then(self):
        with Running() as run:
            run.send("alloc 1048576", "alloc 2097152", "alloc 4096", "free", "refuse")
            row = wait_for_row(run, lambda row: row["refused_requests"])
            self.assertEqual(gpu(row)["cuda_bytes"], 3 * MiB)
            self.assertEqual(gpu(row)["cuda_peak_bytes"], 3 * MiB + 4096)
            self.assertEqual((row["pid"], row["state"], row["file"]), (run.process.pid, "recording", run.path))
            self.assertEqual((row["program"], row["dropped_events"], row["is_exact"]), ("control", 0, True))
            (line,) = [line for line in row["lines"] if line["layer"] == "cuda"]
            self.assertEqual((line["function"], os.path.basename(line["file"])), ("take", "control.c"))
            self.assertEqual((line["live_bytes"], line["live_blocks"], line["alloc_count"]), (3 * MiB, 2, 3))
            run.end()
            self.assertEqual(reported_layers(run.path)["cuda", 0]["live_bytes"], 3 * MiB)

    def test_growth_is_of_the_last_seconds_only(self):
        with Running() as run:
            run.send("alloc 1048576")
            row = wait_for_row(run, lambda row: gpu(row)["cuda_bytes"])
            self.assertEqual([line["growth_bytes"] for line in row["lines"]], [MiB])
            row = wait_for_row(run, lambda row: not row["lines"][0]["growth_bytes"])
            self.assertGreater(row["time_ns"], 10 * 10**9)
            self.assertEqual(row["lines"][0]["live_bytes"], MiB)
            run.send("alloc 4096", "free", "free")
            row = wait_for_row(run, lambda row: not gpu(row)["cuda_bytes"])
            self.assertEqual([line["growth_bytes"] for line in row["lines"]], [-MiB])

    def test_an_ended_process_has_the_numbers_of_its_report(self):
        with Running() as run:
            run.send("alloc 1048576", "many 5000", "alloc 8192")
            run.end()
            (row,) = top(run, "--sort=allocs", run.path)
            layers = reported_layers(run.path)
            self.assertEqual(row["state"], "ended")
            self.assertEqual(gpu(row)["cuda_bytes"], layers["cuda", 0]["live_bytes"])
            self.assertEqual(gpu(row)["cuda_peak_bytes"], layers["cuda", 0]["peak_bytes"])
            self.assertEqual(sum(line["alloc_count"] for line in row["lines"]), 5002)
            self.assertEqual(row["events"], report(run.path)["events"]["recorded"])

    def test_a_killed_process_has_what_it_left_in_shared_memory(self):
        with Running() as run:
            run.send("alloc 1048576", "alloc 2097152")
            run.pid()
            run.process.kill()
            run.process.wait()
            (row,) = top(run, run.path)
            self.assertEqual((row["state"], gpu(row)["cuda_bytes"]), ("killed", 3 * MiB))

    def test_a_stopped_process_is_shown_and_need_not_answer(self):
        with Running() as run:
            run.send("alloc 1048576")
            wait_for_row(run, lambda row: gpu(row)["cuda_bytes"])
            run.stop()
            begin = time.monotonic()
            (row,) = top(run, str(run.process.pid))
            self.assertLess(time.monotonic() - begin, tasks.WAIT_LIMIT_S / 2)
            self.assertEqual((row["state"], gpu(row)["cuda_bytes"]), ("recording", MiB))
            run.process.send_signal(signal.SIGCONT)

    def test_a_pause_is_said(self):
        with Running() as run:
            run.send("alloc 4096", "pause")
            self.assertEqual(wait_for_row(run, lambda row: row["state"] == "paused")["state"], "paused")
            run.send("resume")
            wait_for_row(run, lambda row: row["state"] == "recording")

    def test_the_numbers_stay_exact_while_the_recorder_compacts_the_file(self):
        with Running("mode=aggregate") as run:
            run.send("alloc 1048576")
            wait_for_row(run, lambda row: gpu(row)["cuda_bytes"])
            watcher = subprocess.Popen(
                [CLI, "top", "--batch", "--json", "--sort=allocs", "--interval=100ms", run.path],
                stdout=subprocess.PIPE,
                text=True,
                env=run.environment,
            )
            for _ in range(8):
                run.send("many 100000")
            run.send("alloc 2097152")
            run.end()
            rows = [
                json.loads(line)["processes"][0]
                for line in watcher.communicate(timeout=tasks.WAIT_LIMIT_S)[0].splitlines()
            ]
            self.assertEqual(watcher.returncode, 0)
            shown = [row for row in rows if "devices" in row]
            final = reported_layers(run.path)["cuda", 0]
            self.assertEqual(gpu(shown[-1])["cuda_bytes"], 3 * MiB)
            self.assertEqual(shown[-1]["state"], "ended")
            self.assertEqual(sum(line["alloc_count"] for line in shown[-1]["lines"]), final["alloc_count"])
            self.assertGreater(final["alloc_count"], 500000)
            # A compaction replaces the file. No state between may be seen: 1 MiB and one block of `many` at most.
            for row in shown:
                self.assertIn(gpu(row)["cuda_bytes"], (MiB, MiB + 4096, 3 * MiB))

    def test_an_incomplete_file_is_shown_as_far_as_it_goes(self):
        with Running() as run:
            run.send("alloc 1048576", "many 20000")
            run.end()
            with open(run.path, "rb") as file:
                data = file.read()
            cut = os.path.join(run.folder, "cut.gmt.gz")
            for length in len(data) // 2, len(data) - 100:
                with open(cut, "wb") as file:
                    file.write(data[:length])
                (row,) = top(run, cut)
                self.assertEqual((row["state"], gpu(row)["cuda_bytes"] in (MiB, MiB + 4096)), ("killed", True), length)


class Processes(unittest.TestCase):
    def test_without_operands_all_recorded_processes_of_the_user_are_shown(self):
        # This machine may have other recorders at the same time.
        with Running() as first:
            shared = {"XDG_RUNTIME_DIR": first.runtime}
            with Running(environment=shared, runtime=False) as second:
                first.send("alloc 1048576")
                second.send("alloc 2097152")
                both = {first.path: MiB, second.path: 2 * MiB}

                def shown():
                    rows = [row for row in top(first) if row["file"] in both]
                    return {row["file"]: gpu(row)["cuda_bytes"] for row in rows if "devices" in row}

                tasks.wait_until(lambda: shown() == both, "both processes in top")
                second.end()
                self.assertEqual(list(shown()), [first.path])

    def test_a_program_without_cuda_is_not_shown(self):
        with Running() as run:
            run.send("pause")
            self.assertNotIn(run.path, [row["file"] for row in top(run)])
            self.assertEqual(run.run_cli("top", "--once").returncode, 0)

    def test_what_is_no_recording_is_an_error_of_one_line(self):
        with Running() as run:
            for operand, words in (
                ("999999999", "none of your processes with id 999999999"),
                ("missing.gmt.gz", "missing.gmt.gz: No such file or directory"),
                (CLI, "is not a gzip file"),
            ):
                done = run.run_cli("top", "--once", operand)
                self.assertEqual((done.returncode, done.stdout), (3, ""), operand)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_options_that_make_no_sense_are_refused(self):
        with Running() as run:
            for arguments in (
                ["--once", "--batch"],
                ["--interval=1"],
                ["--interval=2h"],
                ["--device=x"],
                ["--sort=size"],
                ["--tensorboard=x"],
                ["--metrics-file=-"],
                ["--metrics-listen=host:99999", "--once"],
            ):
                done = run.run_cli("top", *arguments)
                self.assertIn(done.returncode, (2, 3), arguments)
                self.assertEqual(done.stderr.count("gpumemtrace: error:"), 1, done.stderr)


if __name__ == "__main__":
    tap.main()
