# SPDX-License-Identifier: MIT
"""gpumemtrace ranks: files that are cut, forged, of other jobs, of other versions, or there twice."""

import gzip
import json
import os
import random
import shutil
import unittest

import cli
import job_story
import write_recording as w
from job_story import empty_folder, ranks, ranks_text, refuse_request, summary, write_job, write_rank
from recording import MiB


class BadInput(unittest.TestCase):
    def test_without_operands_the_command_line_is_wrong(self):
        done = cli.run("ranks")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def test_an_empty_folder_has_nothing_to_judge(self):
        done = cli.run("ranks", empty_folder("nothing"))
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr, "gpumemtrace: error: ranks: no recording or summary was read\n")

    def test_a_folder_of_other_things_is_said_in_one_line(self):
        folder = write_job("mixed", 3)
        for name in "log.txt", "model.pt", "notes.gz":
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"something else")
        answer = ranks(folder)
        self.assertEqual(len(answer["ranks"]), 3)
        self.assertEqual(len(answer["remarks"]), 1)
        self.assertIn("3 files left out: not a recording", answer["remarks"][0])

    def test_files_of_another_job_are_left_out_and_can_be_chosen(self):
        folder = write_job("jobs", 3)
        write_rank(0, 1, "jobs", job="99", name="jobs/other.gmt.gz")
        answer = ranks(folder)
        self.assertEqual((answer["job"], len(answer["ranks"])), ("slurm job 4711.0", 3))
        self.assertEqual(answer["remarks"], ["1 file of another job left out: slurm job 99.0"])
        self.assertEqual(ranks("--job=99", folder)["job"], "slurm job 99.0")
        done = cli.run("ranks", "--job=none", folder)
        self.assertEqual((done.returncode, done.stderr), (3, "gpumemtrace: error: no file is of job `none`\n"))

    def test_of_a_restarted_rank_the_newest_attempt_counts(self):
        folder = write_job("again", 3)
        write_rank(
            1,
            3,
            "again",
            size=MiB,
            name="again/newer.gmt.gz",
            environment={"TORCHELASTIC_RESTART_COUNT": "1"},
            start_time_ns=10**18 + 10**11,
        )
        answer = ranks(folder)
        self.assertEqual([rank["attempt"] for rank in answer["ranks"]], [0, 1, 0])
        self.assertEqual(answer["ranks"][1]["peak_bytes"], 5 * MiB)
        self.assertEqual(
            answer["remarks"], ["1 rank restarted up to 1 time: the newest attempt counts, 1 older file left out"]
        )

    def test_a_short_test_that_a_rank_ran_before_its_training_is_no_earlier_attempt(self):
        folder = write_job("probed", 3, parent_pid=lambda rank: 500)
        probe = {"command": b"python\0probe.py\0", "parent_pid": 500, "start_time_ns": 10**18 - 10**12}
        write_rank(1, 3, "probed", steps=2, size=MiB, name="probed/probe.gmt.gz", pid=77, **probe)
        after = {"command": b"python\0evaluate.py\0", "parent_pid": 1002, "start_time_ns": 10**18 + 10**12}
        write_rank(2, 3, "probed", steps=2, size=MiB, name="probed/after.gmt.gz", pid=78, **after)
        answer = ranks(folder)
        self.assertEqual(
            [(rank["pid"], rank["earlier_attempts"]) for rank in answer["ranks"]], [(1000, 0), (1001, 0), (1002, 0)]
        )
        self.assertEqual(
            answer["remarks"], ["2 processes with the rank of another one left out: the highest peak counts"]
        )

    def test_the_same_command_that_one_script_ran_again_is_a_new_attempt(self):
        folder = write_job("looped", 3, parent_pid=lambda rank: 500)
        write_rank(
            1, 3, "looped", size=MiB, name="looped/second.gmt.gz", pid=77, parent_pid=500, start_time_ns=10**18 + 10**11
        )
        answer = ranks(folder)
        self.assertEqual(
            [(rank["pid"], rank["earlier_attempts"]) for rank in answer["ranks"]], [(1000, 0), (77, 1), (1002, 0)]
        )

    def test_another_run_in_the_same_folder_is_an_earlier_attempt_though_its_command_differs(self):
        folder = write_job("reran", 3, parent_pid=lambda rank: 500)
        write_rank(
            1,
            3,
            "reran",
            size=MiB,
            name="reran/second.gmt.gz",
            pid=77,
            parent_pid=600,
            command=b"python\0train.py\0--lr=2\0",
            start_time_ns=10**18 + 10**11,
        )
        self.assertEqual((ranks(folder)["ranks"][1]["pid"], ranks(folder)["ranks"][1]["earlier_attempts"]), (77, 1))

    def test_a_copy_of_a_file_counts_once(self):
        folder = write_job("copy", 3)
        shutil.copy(f"{folder}/train.r1.gmt.gz", f"{folder}/copy.gmt.gz")
        answer = ranks(folder)
        self.assertEqual(len(answer["ranks"]), 3)
        self.assertIn("the same process as in another file", answer["remarks"][0])

    def test_clocks_that_differ_by_hours_are_said_and_ranks_are_compared_by_step(self):
        folder = write_job(
            "clocks",
            4,
            start_time_ns=lambda rank: 10**18 + 3 * 3600 * 10**9 * (rank == 3),
            steps=lambda rank: {1: 30, 3: 20}.get(rank, 40),
            also=lambda rank: refuse_request if rank in (1, 3) else None,
        )
        answer = ranks(folder)
        self.assertTrue(answer["clocks_differ"])
        self.assertIn("1 rank started up to 3 h 00 min from the others", answer["remarks"][0])
        self.assertEqual(answer["out_of_memory"]["first_rank"], 3)

    def test_ranks_that_took_no_step_are_named(self):
        answer = ranks(write_job("stepless", 4, steps=lambda rank: 0 if rank in (1, 2) else 40))
        self.assertEqual(answer["remarks"], ["2 ranks took no step: 1, 2"])

    def test_a_cut_summary_is_said_in_one_line_and_the_rest_is_judged(self):
        folder = write_job("cut", 4)
        path = summary(f"{folder}/train.r2.gmt.gz")
        os.unlink(f"{folder}/train.r2.gmt.gz")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        answer = ranks(folder)
        self.assertEqual((answer["missing_ranks"], len(answer["remarks"])), ([2], 1))
        self.assertIn("the summary is cut or damaged", answer["remarks"][0])
        done = cli.run("ranks", path, f"{folder}/train.r0.gmt.gz")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
        self.assertIn("1 of 4 ranks", done.stdout)

    def test_a_cut_summary_does_not_stand_for_the_recording_beside_it(self):
        folder = write_job("cut_beside", 4)
        path = summary(f"{folder}/train.r2.gmt.gz")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        answer = ranks(folder)
        self.assertEqual((answer["missing_ranks"], len(answer["ranks"])), ([], 4))
        self.assertIn("the summary is cut or damaged", answer["remarks"][0])

    def test_recordings_are_read_if_the_system_has_no_memory_files(self):
        folder = write_job("no_memory_files", 3)
        inject = os.path.join(cli.BUILD, "tests", "faults", "libfaults-inject.so")
        if not os.path.exists(inject):
            self.skipTest("the build with sanitizers has no library that injects faults")
        done = cli.run(
            "ranks", "--json", folder, environment={"LD_PRELOAD": inject, "FAULTS_DENY": "memfd_create=EPERM"}
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["ranks"], ranks(folder)["ranks"])

    def test_a_cut_recording_is_judged_up_to_the_cut(self):
        folder = write_job("cut_recording", 3)
        path = f"{folder}/train.r1.gmt.gz"
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 20)
        rank = ranks(folder)["ranks"][1]
        self.assertEqual((rank["rank"], rank["complete"], rank["end"]), (1, False, "killed"))

    def test_summaries_whose_rows_contradict_each_other_are_judged_without_harm(self):
        folder = write_job("forged", 3, also=lambda rank: refuse_request if rank == 1 else None)
        header, blocks = job_story.blocks_of(summary(write_rank(3, 4, "forged_source", also=refuse_request)))
        for number, (record, rows) in enumerate(
            (
                # Steps in descending order, and the highest number of a step.
                (66, b"".join(w.column("U", column) for column in ([9 * 2, 17, 0], [0] * 3, [2**64 - 1] * 3, [1] * 3))),
                # Parts of the time that end before they begin.
                (67, b"".join(w.column("U", column) for column in ([9 * 2, 17, 0], [2**64 - 1] * 3, [1] * 3))),
            )
        ):
            changed = {record: w.raw_block(record, 3, rows)}
            body = [changed.get(kind, block) for kind, block in blocks[:-1]]
            count = sum(int.from_bytes(block[4:8], "little") for block in body)
            body.append(w.raw_block(72, 1, w.column("U", [count])))
            with open(f"{folder}/forged.{number}.summary.gz", "wb") as file:
                file.write(gzip.compress(header + b"".join(body), 1))
            rank = ranks(folder)["ranks"][3]
            self.assertEqual((rank["rank"], os.path.basename(rank["file"])), (3, f"forged.{number}.summary.gz"))
            self.assertTrue(ranks_text("--full", folder))
            os.unlink(f"{folder}/forged.{number}.summary.gz")

    def test_a_summary_of_a_newer_version_is_left_out_with_what_to_do(self):
        folder = write_job("newer", 3)
        path = summary(f"{folder}/train.r0.gmt.gz")
        os.unlink(f"{folder}/train.r0.gmt.gz")
        _header, blocks = job_story.blocks_of(path)
        w.write(path, *(block for _kind, block in blocks), head=w.header(major=2, magic=b"GMTSUMM\n"))
        answer = ranks(folder)
        self.assertEqual(answer["missing_ranks"], [0])
        self.assertIn("format version 2", answer["remarks"][0])

    def test_unknown_records_of_a_newer_minor_version_are_skipped(self):
        folder = write_job("minor", 3)
        path = summary(f"{folder}/train.r0.gmt.gz")
        _header, blocks = job_story.blocks_of(path)
        end = blocks.pop()[1]
        before = ranks(folder)
        # The count of rows includes those of unknown records.
        rows = end[-1] + 1
        unknown, end = w.raw_block(120, 1, b"\1\0"), w.raw_block(72, 1, b"\1" + bytes([rows]))
        w.write(path, *(block for _kind, block in blocks), unknown, end, head=w.header(minor=9, magic=b"GMTSUMM\n"))
        self.assertEqual(ranks(folder), before)

    def test_summaries_with_arbitrary_content_are_read_without_harm(self):
        folder = write_job("random", 3)
        path = summary(write_rank(3, 4, "random_source", leak=2 * MiB, also=refuse_request))
        header, blocks = job_story.blocks_of(path)
        numbers = random.Random(1)
        for number in range(400):
            changed = []
            for kind, block in blocks:
                payload = bytearray(block[16:])
                for _ in range(numbers.choice((0, 0, 1, 3))):
                    payload[numbers.randrange(len(payload))] = numbers.choice(
                        (0, 1, 127, 128, 255, numbers.randrange(256))
                    )
                rows = numbers.choice((1, 2, 100)) if numbers.random() < 0.05 else int.from_bytes(block[4:8], "little")
                changed.append(w.raw_block(kind, rows, bytes(payload)))
            with open(f"{folder}/random.{number}.summary.gz", "wb") as file:
                file.write(gzip.compress(header + b"".join(changed), 1))
        for arguments in (), ("--full",), ("--json",):
            done = cli.run("ranks", *arguments, "--job=4711", folder, text=False)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertTrue(done.stdout)
        self.assertEqual(ranks("--job=slurm job 4711.0", folder)["schema"], "gpumemtrace.ranks/1")

    def test_strict_fails_if_a_rank_is_missing(self):
        self.assertEqual(cli.run("ranks", "--strict", write_job("strict", 3)).returncode, 0)
        self.assertEqual(cli.run("ranks", "--strict", write_job("strict", 3, world=4)).returncode, 4)

    def test_a_file_that_does_not_exist_is_an_error_and_the_rest_is_judged(self):
        folder = write_job("some_gone", 3)
        done = cli.run("ranks", folder, cli.place("gone.gmt.gz"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
        self.assertIn("3 ranks on 1 host", done.stdout)


if __name__ == "__main__":
    cli.main()
