# SPDX-License-Identifier: MIT
"""gpumemtrace ranks: one job from many files."""

import gzip
import json
import os
import random
import re
import shutil
import unittest

import cli
import job_story
import write_recording as w
from definitions import Kind
from job_story import summary, write_rank
from recording import MiB, Story, train


def ranks(*arguments, code=0):
    """Returns what `ranks --json` prints."""
    done = cli.run("ranks", "--json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def screen(*arguments):
    done = cli.run("ranks", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def verdict(text, label):
    """Returns a verdict of the text, with the lines below it."""
    found = re.search(rf"^{label} .*\n((?: {{16}}.*\n)*)", text, re.M)
    assert found, text
    return found.group(0)


def fresh(name):
    """Returns an empty folder."""
    shutil.rmtree(cli.place(name), ignore_errors=True)
    os.makedirs(cli.place(name))
    return cli.place(name)


def job(name, count, world=None, **of_rank):
    """Writes a job of `count` ranks. `of_rank` has a function of the rank for each argument of write_rank."""
    folder = fresh(name)
    for rank in range(count):
        write_rank(rank, world or count, name, **{key: value(rank) for key, value in of_rank.items()})
    return folder


def refuse(story):
    """Asks for 16 GiB, which the driver refuses. Nothing ends after that."""
    story.event(Kind.ALLOC_FAILED, size_bytes=16 << 30, frames=story.stack("/home/me/train.py:70 in gather"), result=2)


class OneJob(unittest.TestCase):
    def test_the_ranks_of_a_job_are_found_in_a_folder_and_missing_ones_are_named(self):
        answer = ranks(job("some", 4, world=6))
        self.assertEqual((answer["schema"], answer["job"]), ("gpumemtrace.ranks/1", "slurm job 4711.0"))
        self.assertEqual([rank["rank"] for rank in answer["ranks"]], [0, 1, 2, 3])
        self.assertEqual((answer["world_size"], answer["missing_ranks"]), (6, [4, 5]))
        self.assertIn("ranks 4, 5: no file", screen(cli.place("some")))

    def test_peaks_of_ranks_equal_those_of_report(self):
        folder = job("peaks", 3, size=lambda rank: (rank + 1) * 10 * MiB)
        for rank in ranks(folder)["ranks"]:
            overview = cli.report(rank["file"])["overview"]
            self.assertEqual(
                (rank["peak_bytes"], rank["peak_time_ns"], rank["peak_step"], rank["total_bytes"]),
                (overview["peak_bytes"], overview["peak_time_ns"], overview["step"], overview["total_bytes"]),
            )

    def test_minimum_median_maximum_and_sums_are_those_of_the_peaks(self):
        answer = ranks(job("sums", 5, size=lambda rank: (rank + 1) * MiB, host_ranks=lambda _: 2))
        peaks = [rank["peak_bytes"] for rank in answer["ranks"]]
        self.assertEqual(
            [answer["peaks"][key] for key in ("min_bytes", "median_bytes", "max_bytes", "spread_bytes")],
            [min(peaks), peaks[2], max(peaks), max(peaks) - min(peaks)],
        )
        self.assertEqual(answer["sum_peak_bytes"], sum(peaks))
        hosts = {host["host"]: host["sum_peak_bytes"] for host in answer["hosts"]}
        self.assertEqual(hosts, {"node0": sum(peaks[:2]), "node1": sum(peaks[2:4]), "node2": peaks[4]})

    def test_summaries_and_recordings_give_the_same_answer(self):
        folder = job("both", 4, leak=lambda rank: 2 * MiB * (rank == 2))
        write_rank(4, 6, "both", ends=False)
        write_rank(5, 6, "both", also=refuse)
        before = ranks(folder)
        for rank in range(6):
            path = f"{folder}/train.r{rank}.gmt.gz"
            summary(path)
            os.unlink(path)
        after = ranks(folder)
        for rank in before["ranks"] + after["ranks"]:
            rank["file"] = rank["file"].split(".")[1]
        self.assertEqual(before, after)

    def test_a_recording_whose_summary_lies_next_to_it_is_not_read_again(self):
        folder = job("next", 3)
        summary(f"{folder}/train.r1.gmt.gz")
        files = [os.path.basename(rank["file"]) for rank in ranks(folder)["ranks"]]
        self.assertEqual(files, ["train.r0.gmt.gz", "train.r1.summary.gz", "train.r2.gmt.gz"])

    def test_a_job_of_4096_ranks_with_three_faults_is_diagnosed_on_the_first_screen(self):
        folder = job_story.write_large_job(fresh("job"))
        text = screen(folder)
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 24, text)
        self.assertLessEqual(max(map(len, lines[:-1])), 80, text)
        self.assertIn("4,095 of 4,096 ranks on 512 hosts, 100 steps", lines[0])
        self.assertIn(f"rank {job_story.MISSING}: no file", verdict(text, "missing"))
        self.assertIn(f"rank {job_story.LEAKING}: 4.03 GiB, +800 MiB", verdict(text, "outliers"))
        self.assertIn("+800 MiB  train.py:32 in keep", verdict(text, "outliers"))
        self.assertIn(f"1 of 4,095 ranks; first rank {job_story.LEAKING}", verdict(text, "growth"))
        self.assertIn("+8.00 MiB a step  train.py:32 in keep", verdict(text, "growth"))
        self.assertIn("512 ranks (1536-2047): 4.75 GiB, +1.50 GiB (46 %)", verdict(text, "balance"))
        self.assertIn("+1.50 GiB  model.py:100 in build_layer0", verdict(text, "balance"))
        self.assertNotIn("shared GPUs", text)
        self.assertTrue(lines[-1].startswith("next: gpumemtrace leaks "), lines[-1])
        # The page for users shows this screen.
        self.assertIn(text.replace(cli.FOLDER + "/", ""), cli.read_source("docs", "ranks.md"))

    def test_a_job_of_8_ranks_has_all_of_them_on_one_screen(self):
        text = screen(job("eight", 8))
        self.assertLessEqual(len(text.splitlines()), 24, text)
        self.assertEqual(re.findall(r"^ +(\d) node0", text, re.M), [str(rank) for rank in range(8)])

    def test_a_job_with_every_fault_is_on_one_screen(self):
        folder = job(
            "faults",
            40,
            world=60,
            host_ranks=lambda _: 4,
            size=lambda rank: (64 + 32 * (rank // 10)) * MiB,
            leak=lambda rank: 8 * MiB * (rank in (3, 13, 23)),
            also=lambda rank: refuse if rank in (5, 6) else None,
            ends=lambda rank: rank != 8,
            steps=lambda rank: 0 if rank == 9 else 40,
        )
        write_rank(0, 1, "faults", job="99", name="faults/other.gmt.gz")
        write_rank(1, 60, "faults", name="faults/again.gmt.gz", environment={"TORCHELASTIC_RESTART_COUNT": "1"})
        lines = screen(folder).splitlines()
        self.assertLessEqual(len(lines), 24, "\n".join(lines))
        self.assertLessEqual(max(map(len, lines[:-1])), 80, "\n".join(lines))
        self.assertTrue(lines[-1].startswith("next: "), lines[-1])
        full = screen("--full", folder)
        self.assertEqual(len(re.findall(r"^ +\d+ node\d", full, re.M)), 40)


class Verdicts(unittest.TestCase):
    def test_a_rank_that_holds_more_is_an_outlier_with_the_lines_that_make_the_difference(self):
        def also(rank):
            return (lambda story: story.alloc(96 * MiB, "/home/me/odd.py:7 in cache")) if rank == 4 else None

        answer = ranks(job("outlier", 6, also=also))
        (outlier,) = answer["outliers"]
        self.assertEqual((outlier["rank"], outlier["difference_bytes"]), (4, 32 * MiB))
        self.assertEqual(outlier["lines"][0]["place"], {"file": "odd.py", "line": 7, "function": "cache"})
        self.assertEqual([rank["is_outlier"] for rank in answer["ranks"]], [False] * 4 + [True, False])

    def test_ranks_that_are_alike_have_no_outlier_and_one_group(self):
        answer = ranks(job("alike", 5))
        self.assertEqual((answer["outliers"], len(answer["groups"])), ([], 1))
        text = screen(cli.place("alike"))
        self.assertIn("none", verdict(text, "outliers"))
        self.assertIn("5 ranks have like peaks", verdict(text, "balance"))

    def test_with_fewer_than_three_ranks_outliers_are_not_judged_and_the_reason_is_given(self):
        answer = ranks(job("two", 2, size=lambda rank: (rank + 1) * 100 * MiB))
        self.assertEqual(answer["outliers_not_judged"], "fewer than 3 ranks hold device memory")
        self.assertIn("not judged: fewer than 3 ranks", verdict(screen(cli.place("two")), "outliers"))

    def test_the_rank_that_grew_first_is_named_with_its_line_and_rate(self):
        def grow(rank, from_step):
            def also(story):
                story.steps(from_step)
                story.steps(60, lambda _: story.alloc(MiB, f"/home/me/grow.py:{rank} in keep"))

            return also

        answer = ranks(job("grow", 4, also=lambda rank: {1: grow(1, 20), 2: grow(2, 5)}.get(rank)))
        self.assertEqual((answer["growth"]["ranks"], answer["growth"]["first_rank"]), (2, 2))
        growth = answer["ranks"][2]["growth"]
        self.assertEqual((growth["place"]["line"], growth["step_bytes"]), (2, MiB))
        self.assertLess(growth["first_step"], answer["ranks"][1]["growth"]["first_step"])

    def test_the_rank_that_failed_first_is_named_and_what_the_others_held_then(self):
        folder = job(
            "failed",
            4,
            steps=lambda rank: {1: 30, 2: 20}.get(rank, 40),
            also=lambda rank: refuse if rank in (1, 2) else None,
        )
        answer = ranks(folder)
        failure = answer["out_of_memory"]
        self.assertEqual((failure["ranks"], failure["first_rank"], failure["compared_by"]), (2, 2, "step"))
        self.assertEqual((failure["others_held"]["ranks"], failure["others_held"]["median_bytes"]), (3, 320 * MiB))
        self.assertEqual(answer["ends"]["out_of_memory"], 2)
        text = verdict(screen(folder), "out of memory")
        self.assertIn("2 ranks; first rank 2, step 20, asked for 16.0 GiB, held 256 MiB\n", text)
        self.assertIn("train.py:70 in gather\n", text)
        self.assertIn("3 others held 320 MiB to 320 MiB, median 320 MiB\n", text)

    def test_a_killed_rank_is_told_from_one_that_ended(self):
        answer = ranks(job("killed", 3, ends=lambda rank: rank != 1))
        self.assertEqual([rank["end"] for rank in answer["ranks"]], ["clean", "killed", "clean"])
        self.assertEqual((answer["first_killed_rank"], answer["incomplete_ranks"]), (1, 1))

    def test_two_groups_of_ranks_with_like_peaks_are_compared_by_their_lines(self):
        answer = ranks(job("stages", 6, size=lambda rank: (100 if rank < 4 else 150) * MiB))
        self.assertEqual([group["ranks"] for group in answer["groups"]], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual(answer["groups"][1]["difference"]["difference_bytes"], 250 * MiB)
        self.assertEqual(answer["groups"][1]["difference"]["lines"][0]["difference_bytes"], 200 * MiB)

    def test_roles_of_torchrun_are_the_groups(self):
        roles = ("actor", "learner")
        answer = ranks(job("roles", 6, environment=lambda rank: {"ROLE_NAME": roles[rank % 2]}))
        self.assertEqual(
            {group["role"]: group["ranks"] for group in answer["groups"]}, {"actor": [0, 2, 4], "learner": [1, 3, 5]}
        )

    def test_programs_of_an_mpmd_job_are_its_roles(self):
        answer = ranks(job("mpmd", 6, command=lambda rank: b"/bin/ocean\0" if rank < 3 else b"/bin/air\0"))
        self.assertEqual(
            {group["role"]: group["ranks"] for group in answer["groups"]}, {"ocean": [0, 1, 2], "air": [3, 4, 5]}
        )

    def test_a_device_that_two_processes_used_at_one_time_is_shared(self):
        folder = fresh("shared")
        for rank in range(3):
            story = train(job_story.rank_story(rank, 3))
            story.uuid = "GPU-same" if rank < 2 else "GPU-own"
            story.write(f"shared/r{rank}.gmt.gz")
        (shared,) = ranks(folder)["shared_devices"]
        self.assertEqual((shared["uuid"], shared["processes"], shared["host"]), ("GPU-same", 2, "node0"))


class Launchers(unittest.TestCase):
    def launched(self, variables, rank=0):
        folder = fresh("launched")
        story = train(Story(rank=rank, command=b"python\0train.py\0"))
        story.environment = variables
        story.write("launched/a.gmt.gz")
        answer = ranks(folder)
        return answer["job"], answer["world_size"]

    def test_each_launcher_names_its_job_and_the_number_of_ranks(self):
        for variables, job_name, world in (
            ({"RANK": "0", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "abc"}, "torchrun job abc", 4),
            ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "29500"}, "job of h:29500", 2),
            ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "5"}, "slurm job 5", 8),
            ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "n"}, "mpi job n", 3),
            ({"PMI_RANK": "0", "PMI_SIZE": "6", "PMI_JOBID": "j"}, "mpi job j", 6),
            ({"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "7", "FLUX_JOB_ID": "f"}, "flux job f", 7),
            ({"RANK": "0", "WORLD_SIZE": "2", "RAY_JOB_ID": "01000000"}, "ray job 01000000", 2),
            ({}, "train.py in /home/me", None),
        ):
            self.assertEqual(self.launched(variables), (job_name, world))

    def test_torchrun_below_slurm_counts_the_ranks_of_torchrun(self):
        variables = {"RANK": "0", "WORLD_SIZE": "16", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "5"}
        self.assertEqual(self.launched(variables), ("slurm job 5", 16))

    def test_two_runs_of_torchrun_in_one_allocation_are_two_jobs(self):
        slurm = {"RANK": "0", "WORLD_SIZE": "2", "SLURM_JOB_ID": "5", "MASTER_PORT": "29500"}
        self.assertEqual(self.launched({**slurm, "TORCHELASTIC_RUN_ID": "none"}), ("slurm job 5.29500", 2))
        self.assertEqual(self.launched({**slurm, "TORCHELASTIC_RUN_ID": "two"}), ("slurm job 5.two", 2))
        self.assertEqual(self.launched({**slurm, "SLURM_STEP_ID": "3"}), ("slurm job 5.3", 2))

    def test_processes_without_ranks_are_compared_by_host_and_process(self):
        folder = fresh("rankless")
        for number in range(3):
            train(Story(pid=40 + number)).write(f"rankless/{number}.gmt.gz")
        answer = ranks(folder)
        self.assertEqual(
            [(rank["rank"], rank["pid"]) for rank in answer["ranks"]], [(None, 40), (None, 41), (None, 42)]
        )
        self.assertIn("3 processes on 1 host", screen(folder))


class BadInput(unittest.TestCase):
    def test_without_operands_the_command_line_is_wrong(self):
        done = cli.run("ranks")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def test_an_empty_folder_has_nothing_to_judge(self):
        done = cli.run("ranks", fresh("nothing"))
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr, "gpumemtrace: error: ranks: no recording or summary was read\n")

    def test_a_folder_of_other_things_is_said_in_one_line(self):
        folder = job("mixed", 3)
        for name in "log.txt", "model.pt", "notes.gz":
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"something else")
        answer = ranks(folder)
        self.assertEqual(len(answer["ranks"]), 3)
        self.assertEqual(len(answer["remarks"]), 1)
        self.assertIn("3 files left out that are no recordings", answer["remarks"][0])

    def test_files_of_another_job_are_left_out_and_can_be_chosen(self):
        folder = job("jobs", 3)
        write_rank(0, 1, "jobs", job="99", name="jobs/other.gmt.gz")
        answer = ranks(folder)
        self.assertEqual((answer["job"], len(answer["ranks"])), ("slurm job 4711.0", 3))
        self.assertEqual(answer["remarks"], ["1 file of another job left out: slurm job 99.0"])
        self.assertEqual(ranks("--job=99", folder)["job"], "slurm job 99.0")
        done = cli.run("ranks", "--job=none", folder)
        self.assertEqual((done.returncode, done.stderr), (3, "gpumemtrace: error: no file is of job `none`\n"))

    def test_of_a_restarted_rank_the_newest_attempt_counts(self):
        folder = job("again", 3)
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

    def test_a_copy_of_a_file_counts_once(self):
        folder = job("copy", 3)
        shutil.copy(f"{folder}/train.r1.gmt.gz", f"{folder}/copy.gmt.gz")
        answer = ranks(folder)
        self.assertEqual(len(answer["ranks"]), 3)
        self.assertIn("the same process as in another file", answer["remarks"][0])

    def test_clocks_that_differ_by_hours_are_said_and_ranks_are_compared_by_step(self):
        folder = job(
            "clocks",
            4,
            start_time_ns=lambda rank: 10**18 + 3 * 3600 * 10**9 * (rank == 3),
            steps=lambda rank: {1: 30, 3: 20}.get(rank, 40),
            also=lambda rank: refuse if rank in (1, 3) else None,
        )
        answer = ranks(folder)
        self.assertTrue(answer["clocks_differ"])
        self.assertIn("1 rank started up to 3 h 00 min from the others", answer["remarks"][0])
        self.assertEqual(answer["out_of_memory"]["first_rank"], 3)

    def test_ranks_that_took_no_step_are_named(self):
        answer = ranks(job("stepless", 4, steps=lambda rank: 0 if rank in (1, 2) else 40))
        self.assertEqual(answer["remarks"], ["2 ranks took no step: 1, 2"])

    def test_a_cut_summary_is_said_in_one_line_and_the_rest_is_judged(self):
        folder = job("cut", 4)
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
        folder = job("cut_beside", 4)
        path = summary(f"{folder}/train.r2.gmt.gz")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        answer = ranks(folder)
        self.assertEqual((answer["missing_ranks"], len(answer["ranks"])), ([], 4))
        self.assertIn("the summary is cut or damaged", answer["remarks"][0])

    def test_a_cut_recording_is_judged_up_to_the_cut(self):
        folder = job("cut_recording", 3)
        path = f"{folder}/train.r1.gmt.gz"
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 20)
        rank = ranks(folder)["ranks"][1]
        self.assertEqual((rank["rank"], rank["complete"], rank["end"]), (1, False, "killed"))

    def test_a_summary_of_a_newer_version_is_left_out_with_what_to_do(self):
        folder = job("newer", 3)
        path = summary(f"{folder}/train.r0.gmt.gz")
        os.unlink(f"{folder}/train.r0.gmt.gz")
        _header, blocks = job_story.blocks_of(path)
        w.write(path, *(block for _kind, block in blocks), head=w.header(major=2, magic=b"GMTSUMM\n"))
        answer = ranks(folder)
        self.assertEqual(answer["missing_ranks"], [0])
        self.assertIn("format version 2", answer["remarks"][0])

    def test_unknown_records_of_a_newer_minor_version_are_skipped(self):
        folder = job("minor", 3)
        path = summary(f"{folder}/train.r0.gmt.gz")
        _header, blocks = job_story.blocks_of(path)
        end = blocks.pop()[1]
        before = ranks(folder)
        # The count of rows includes those of unknown records.
        rows = end[-1] + 1
        unknown, end = w.frame(120, 1, b"\1\0"), w.frame(72, 1, b"\1" + bytes([rows]))
        w.write(path, *(block for _kind, block in blocks), unknown, end, head=w.header(minor=9, magic=b"GMTSUMM\n"))
        self.assertEqual(ranks(folder), before)

    def test_summaries_with_arbitrary_content_are_read_without_harm(self):
        folder = job("random", 3)
        path = summary(write_rank(3, 4, "random_source", leak=2 * MiB, also=refuse))
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
                changed.append(w.frame(kind, rows, bytes(payload)))
            with open(f"{folder}/random.{number}.summary.gz", "wb") as file:
                file.write(gzip.compress(header + b"".join(changed), 1))
        for arguments in (), ("--full",), ("--json",):
            done = cli.run("ranks", *arguments, "--job=4711", folder, text=False)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            self.assertTrue(done.stdout)
        self.assertEqual(ranks("--job=slurm job 4711.0", folder)["schema"], "gpumemtrace.ranks/1")

    def test_strict_fails_if_a_rank_is_missing(self):
        self.assertEqual(cli.run("ranks", "--strict", job("strict", 3)).returncode, 0)
        self.assertEqual(cli.run("ranks", "--strict", job("strict", 3, world=4)).returncode, 4)

    def test_a_file_that_does_not_exist_is_an_error_and_the_rest_is_judged(self):
        folder = job("some_gone", 3)
        done = cli.run("ranks", folder, cli.place("gone.gmt.gz"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))
        self.assertIn("3 ranks on 1 host", done.stdout)


if __name__ == "__main__":
    cli.main()
