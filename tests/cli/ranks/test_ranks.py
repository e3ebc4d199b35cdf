# SPDX-License-Identifier: MIT
"""gpumemtrace ranks: one job from many files."""

import os
import re
import unittest

import cli
import job_story
from job_story import empty_folder, ranks, ranks_text, refuse_request, summary, write_job, write_rank
from recording import MiB, Story, train


def verdict(text, label):
    """Returns a verdict of the text, with the lines below it."""
    found = re.search(rf"^{label} .*\n((?: {{16}}.*\n)*)", text, re.M)
    assert found, text
    return found.group(0)


class OneJob(unittest.TestCase):
    def test_the_ranks_of_a_job_are_found_in_a_folder_and_missing_ones_are_named(self):
        answer = ranks(write_job("some", 4, world=6))
        self.assertEqual((answer["schema"], answer["job"]), ("gpumemtrace.ranks/1", "slurm job 4711.0"))
        self.assertEqual([rank["rank"] for rank in answer["ranks"]], [0, 1, 2, 3])
        self.assertEqual((answer["world_size"], answer["missing_ranks"]), (6, [4, 5]))
        self.assertIn("ranks 4, 5: no file", ranks_text(cli.place("some")))

    def test_peaks_of_ranks_equal_those_of_report(self):
        folder = write_job("peaks", 3, size=lambda rank: (rank + 1) * 10 * MiB)
        for rank in ranks(folder)["ranks"]:
            overview = cli.report(rank["file"])["overview"]
            self.assertEqual(
                (rank["peak_bytes"], rank["peak_time_ns"], rank["peak_step"], rank["total_bytes"]),
                (overview["peak_bytes"], overview["peak_time_ns"], overview["step"], overview["total_bytes"]),
            )

    def test_minimum_median_maximum_and_sums_are_those_of_the_peaks(self):
        answer = ranks(write_job("sums", 5, size=lambda rank: (rank + 1) * MiB, host_ranks=lambda _: 2))
        peaks = [rank["peak_bytes"] for rank in answer["ranks"]]
        self.assertEqual(
            [answer["peaks"][key] for key in ("min_bytes", "median_bytes", "max_bytes", "spread_bytes")],
            [min(peaks), peaks[2], max(peaks), max(peaks) - min(peaks)],
        )
        self.assertEqual(answer["sum_peak_bytes"], sum(peaks))
        hosts = {host["host"]: host["sum_peak_bytes"] for host in answer["hosts"]}
        self.assertEqual(hosts, {"node0": sum(peaks[:2]), "node1": sum(peaks[2:4]), "node2": peaks[4]})

    def test_summaries_and_recordings_give_the_same_answer(self):
        folder = write_job("both", 4, leak=lambda rank: 2 * MiB * (rank == 2))
        write_rank(4, 6, "both", ends=False)
        write_rank(5, 6, "both", also=refuse_request)
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
        folder = write_job("next", 3)
        summary(f"{folder}/train.r1.gmt.gz")
        files = [os.path.basename(rank["file"]) for rank in ranks(folder)["ranks"]]
        self.assertEqual(files, ["train.r0.gmt.gz", "train.r1.summary.gz", "train.r2.gmt.gz"])

    def test_a_job_of_4096_ranks_with_three_faults_is_diagnosed_on_the_first_screen(self):
        folder = job_story.write_large_job(empty_folder("job"))
        text = ranks_text(folder)
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

    def test_the_number_of_ranks_is_in_the_first_line_also_if_the_job_has_a_long_name(self):
        name = {"SLURM_JOB_ID": "", "TORCHELASTIC_RUN_ID": "fa8d242e-7a1e-4b3d-bb7a-466f97392af0"}
        folder = write_job("long_name", 8, environment=lambda _: name)
        first = ranks_text(folder).splitlines()[0]
        self.assertEqual(first, "train.py, torchrun job fa8d242e-7a1e-4b...: 8 ranks on 1 host, 40 steps")
        self.assertIn(name["TORCHELASTIC_RUN_ID"], ranks_text("--full", folder).splitlines()[0])

    def test_a_job_of_8_ranks_has_all_of_them_on_one_screen(self):
        text = ranks_text(write_job("eight", 8))
        self.assertLessEqual(len(text.splitlines()), 24, text)
        self.assertEqual(re.findall(r"^ +(\d) node0", text, re.M), [str(rank) for rank in range(8)])

    def test_a_job_with_every_fault_is_on_one_screen(self):
        folder = write_job(
            "faults",
            40,
            world=60,
            host_ranks=lambda _: 4,
            size=lambda rank: (64 + 32 * (rank // 10)) * MiB,
            leak=lambda rank: 8 * MiB * (rank in (3, 13, 23)),
            also=lambda rank: refuse_request if rank in (5, 6) else None,
            ends=lambda rank: rank != 8,
            steps=lambda rank: 0 if rank == 9 else 40,
        )
        write_rank(0, 1, "faults", job="99", name="faults/other.gmt.gz")
        write_rank(1, 60, "faults", name="faults/again.gmt.gz", environment={"TORCHELASTIC_RESTART_COUNT": "1"})
        lines = ranks_text(folder).splitlines()
        self.assertLessEqual(len(lines), 24, "\n".join(lines))
        self.assertLessEqual(max(map(len, lines[:-1])), 80, "\n".join(lines))
        self.assertTrue(lines[-1].startswith("next: "), lines[-1])
        full = ranks_text("--full", folder)
        self.assertEqual(len(re.findall(r"^ +\d+ node\d", full, re.M)), 40)


class Verdicts(unittest.TestCase):
    def test_a_rank_that_holds_more_is_an_outlier_with_the_lines_that_make_the_difference(self):
        def also(rank):
            return (lambda story: story.alloc(96 * MiB, "/home/me/odd.py:7 in cache")) if rank == 4 else None

        answer = ranks(write_job("outlier", 6, also=also))
        (outlier,) = answer["outliers"]
        self.assertEqual((outlier["rank"], outlier["difference_bytes"]), (4, 32 * MiB))
        self.assertEqual(outlier["lines"][0]["place"], {"file": "odd.py", "line": 7, "function": "cache"})
        self.assertEqual([rank["is_outlier"] for rank in answer["ranks"]], [False] * 4 + [True, False])

    def test_ranks_that_are_alike_have_no_outlier_and_one_group(self):
        answer = ranks(write_job("alike", 5))
        self.assertEqual((answer["outliers"], len(answer["groups"])), ([], 1))
        text = ranks_text(cli.place("alike"))
        self.assertIn("none", verdict(text, "outliers"))
        self.assertIn("5 ranks have like peaks", verdict(text, "balance"))

    def test_with_fewer_than_three_ranks_outliers_are_not_judged_and_the_reason_is_given(self):
        answer = ranks(write_job("two", 2, size=lambda rank: (rank + 1) * 100 * MiB))
        self.assertEqual(answer["outliers_not_judged"], "fewer than 3 ranks hold device memory")
        self.assertIn("not judged: fewer than 3 ranks", verdict(ranks_text(cli.place("two")), "outliers"))

    def test_the_rank_that_grew_first_is_named_with_its_line_and_rate(self):
        def grow(rank, from_step):
            def also(story):
                story.steps(from_step)
                story.steps(60, lambda _: story.alloc(MiB, f"/home/me/grow.py:{rank} in keep"))

            return also

        answer = ranks(write_job("grow", 4, also=lambda rank: {1: grow(1, 20), 2: grow(2, 5)}.get(rank)))
        self.assertEqual((answer["growth"]["ranks"], answer["growth"]["first_rank"]), (2, 2))
        growth = answer["ranks"][2]["growth"]
        self.assertEqual((growth["place"]["line"], growth["step_bytes"]), (2, MiB))
        self.assertLess(growth["first_step"], answer["ranks"][1]["growth"]["first_step"])

    def test_the_rank_that_failed_first_is_named_and_what_the_others_held_then(self):
        folder = write_job(
            "failed",
            4,
            steps=lambda rank: {1: 30, 2: 20}.get(rank, 40),
            also=lambda rank: refuse_request if rank in (1, 2) else None,
        )
        answer = ranks(folder)
        failure = answer["out_of_memory"]
        self.assertEqual((failure["ranks"], failure["first_rank"], failure["compared_by"]), (2, 2, "step"))
        self.assertEqual((failure["others_held"]["ranks"], failure["others_held"]["median_bytes"]), (3, 320 * MiB))
        self.assertEqual(answer["ends"]["out_of_memory"], 2)
        text = verdict(ranks_text(folder), "out of memory")
        self.assertIn("2 ranks; first rank 2, step 20, asked for 16.0 GiB, held 256 MiB\n", text)
        self.assertIn("train.py:70 in gather\n", text)
        self.assertIn("3 others held 320 MiB to 320 MiB, median 320 MiB\n", text)

    def test_a_run_that_went_on_after_a_refused_request_did_not_end_by_it(self):
        def survive(story):
            refuse_request(story)
            story.free(story.alloc(MiB, "/home/me/train.py:72 in gather"))

        folder = write_job(
            "survived",
            4,
            steps=lambda rank: 0 if rank < 2 else 40,
            also=lambda rank: survive if rank in (0, 2) else refuse_request,
        )
        answer = ranks(folder)
        self.assertEqual([rank["end"] for rank in answer["ranks"]], ["clean", "out_of_memory"] * 2)
        self.assertEqual(answer["out_of_memory"]["ranks"], 4)

    def test_a_killed_rank_is_told_from_one_that_ended(self):
        answer = ranks(write_job("killed", 3, ends=lambda rank: rank != 1))
        self.assertEqual([rank["end"] for rank in answer["ranks"]], ["clean", "killed", "clean"])
        self.assertEqual((answer["first_killed_rank"], answer["incomplete_ranks"]), (1, 1))

    def test_two_groups_of_ranks_with_like_peaks_are_compared_by_their_lines(self):
        answer = ranks(write_job("stages", 6, size=lambda rank: (100 if rank < 4 else 150) * MiB))
        self.assertEqual([group["ranks"] for group in answer["groups"]], [[0, 1, 2, 3], [4, 5]])
        self.assertEqual(answer["groups"][1]["difference"]["difference_bytes"], 250 * MiB)
        self.assertEqual(answer["groups"][1]["difference"]["lines"][0]["difference_bytes"], 200 * MiB)

    def test_roles_of_torchrun_are_the_groups(self):
        roles = ("actor", "learner")
        answer = ranks(write_job("roles", 6, environment=lambda rank: {"ROLE_NAME": roles[rank % 2]}))
        self.assertEqual(
            {group["role"]: group["ranks"] for group in answer["groups"]}, {"actor": [0, 2, 4], "learner": [1, 3, 5]}
        )

    def test_programs_of_an_mpmd_job_are_its_roles(self):
        answer = ranks(write_job("mpmd", 6, command=lambda rank: b"/bin/ocean\0" if rank < 3 else b"/bin/air\0"))
        self.assertEqual(
            {group["role"]: group["ranks"] for group in answer["groups"]}, {"ocean": [0, 1, 2], "air": [3, 4, 5]}
        )

    def test_a_device_that_two_processes_used_at_one_time_is_shared(self):
        folder = empty_folder("shared")
        for rank in range(3):
            story = train(job_story.rank_story(rank, 3))
            story.uuid = "GPU-same" if rank < 2 else "GPU-own"
            story.write(f"shared/r{rank}.gmt.gz")
        (shared,) = ranks(folder)["shared_devices"]
        self.assertEqual((shared["uuid"], shared["processes"], shared["host"]), ("GPU-same", 2, "node0"))


class Launchers(unittest.TestCase):
    def launched(self, variables, rank=0):
        folder = empty_folder("launched")
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
        folder = empty_folder("rankless")
        for number in range(3):
            train(Story(pid=40 + number)).write(f"rankless/{number}.gmt.gz")
        answer = ranks(folder)
        self.assertEqual(
            [(rank["rank"], rank["pid"]) for rank in answer["ranks"]], [(None, 40), (None, 41), (None, 42)]
        )
        self.assertIn("3 processes on 1 host", ranks_text(folder))


if __name__ == "__main__":
    cli.main()
