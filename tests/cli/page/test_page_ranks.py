# SPDX-License-Identifier: MIT
"""ranks --html: the page's data, compared with `ranks --json`, `report --json` and the summaries."""

import gzip
import os
import shutil

import cli
import hostile_texts
import job_story
import page_packets
from job_story import empty_folder, ranks, refuse_request, summary, write_job, write_rank
from page_checks import PageChecks, run
from recording import CUDA, MiB, Story

NOT_IN_PAGE, NO_RECORDING = -1, -2
SCRIPT = "</script><script>alert(1)</script><!--"


class RanksPage(PageChecks):
    def job_page(self, *paths, options=(), code=0):
        """Makes the page of a job. Returns the page, and the packet with the data of the job."""
        target = cli.place("ranks.html")
        done = run("ranks", f"--html={target}", *options, *paths)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        page = page_packets.Page(target)
        return page, page_packets.Packet(page.elements.scripts["job"])

    def curve(self, packet, index, kind, *columns):
        """Returns the columns of the curve of the rank at `index`. `kind` is "step" or "time"."""
        counts = packet[f"rank.{kind}s"]
        begin = sum(counts[:index])
        return [packet[f"{kind}.{column}"][begin : begin + counts[index]] for column in columns]


class Data(RanksPage):
    def test_the_job_in_the_page_is_the_object_of_ranks_json(self):
        folder = write_job("equal", 6, leak=lambda rank: 2 * MiB * (rank == 2), ends=lambda rank: rank != 4)
        write_rank(6, 8, "equal", also=refuse_request)
        for operands in ([folder], sorted(f"{folder}/{name}" for name in os.listdir(folder))):
            _page, packet = self.job_page(*operands)
            self.assertEqual(packet.header["ranks"], ranks(*operands))
        self.assertEqual(len(packet.header["ranks"]["missing_ranks"]), 1)

    def test_the_curve_by_steps_has_the_steps_of_report(self):
        folder = write_job("steps", 3, leak=lambda rank: MiB * rank, steps=lambda rank: 30 + rank)
        _page, packet = self.job_page(folder)
        for index, rank in enumerate(packet.header["ranks"]["ranks"]):
            steps = cli.report(rank["file"])["steps"]
            held = [step["devices"][0] for step in steps]
            self.assertEqual(
                self.curve(packet, index, "step", "first", "peak_bytes", "end_bytes"),
                [
                    list(range(30 + index)),
                    [each["peak_bytes"] for each in held],
                    [each["end_live_bytes"] for each in held],
                ],
            )

    def test_the_curve_by_time_has_the_peak_of_the_rank(self):
        _page, packet = self.job_page(write_job("times", 3, size=lambda rank: (1 + rank) * MiB))
        for index, rank in enumerate(packet.header["ranks"]["ranks"]):
            ends, peaks = self.curve(packet, index, "time", "end_ns", "peak_bytes")
            self.assertEqual(max(peaks), rank["peak_bytes"])
            self.assertEqual(ends, sorted(ends))

    def test_a_page_of_summaries_has_the_same_curves_as_one_of_recordings(self):
        folder = write_job("curves", 3, leak=lambda rank: MiB * rank)
        _page, before = self.job_page(folder)
        for rank in range(3):
            os.unlink(summary(f"{folder}/train.r{rank}.gmt.gz").replace(".summary.gz", ".gmt.gz"))
        page, after = self.job_page(folder)
        for name in before.columns:
            if name != "rank.recording":
                self.assertEqual(after[name], before[name], name)
        self.assertEqual((after["rank.recording"], page.recordings), ([NO_RECORDING] * 3, []))

    def test_ranks_that_took_no_step_have_a_curve_by_time(self):
        _page, packet = self.job_page(write_job("stepless", 3, steps=lambda _: 0))
        self.assertEqual((packet["rank.steps"], packet["step.first"]), ([0] * 3, []))
        self.assertTrue(all(packet["rank.times"]), packet["rank.times"])

    def test_a_job_of_one_rank_has_a_page(self):
        page, packet = self.job_page(write_job("one", 1))
        self.assertEqual((packet["rank.recording"], len(page.recordings)), ([0], 1))

    def test_ranks_that_allocated_nothing_have_no_curve(self):
        folder = empty_folder("nothing")
        for rank in range(2):
            job_story.rank_story(rank, 2).write(f"nothing/r{rank}.gmt.gz")
        _page, packet = self.job_page(folder)
        self.assertEqual((packet["rank.steps"], packet["rank.times"]), ([0, 0], [0, 0]))

    def test_a_curve_of_other_memory_than_the_peaks_is_left_out(self):
        """Most ranks use PyTorch. A rank that has only CUDA's memory has no curve to compare with theirs."""
        folder = write_job("layers", 3)
        other = job_story.rank_story(3, 4)
        other.alloc(MiB, "/home/me/a.py:1 in f", layer=CUDA)
        other.write("layers/train.r3.gmt.gz")
        _page, packet = self.job_page(folder)
        self.assertEqual(packet.header["ranks"]["ranks"][3]["peak_bytes"], None)
        self.assertEqual(packet["rank.times"][3], 0)
        self.assertTrue(all(packet["rank.times"][:3]))


class Recordings(RanksPage):
    def chosen(self, packet):
        return [rank for rank, number in enumerate(packet["rank.recording"]) if number >= 0]

    def test_a_small_job_has_all_its_recordings_in_the_order_of_the_ranks(self):
        page, packet = self.job_page(write_job("small", 8, leak=lambda rank: MiB * (rank == 5)))
        self.assertEqual(packet["rank.recording"], list(range(8)))
        self.assertEqual([row["rank"] for row in page.recordings], list(range(8)))

    def test_the_recordings_in_the_page_are_whole(self):
        page, packet = self.job_page(write_job("whole", 2))
        for number, rank in enumerate(packet.header["ranks"]["ranks"]):
            self.check_peaks(self.check_sums(page, number), cli.report(rank["file"]))
            self.assertEqual(page.recordings[number]["file"], rank["file"])

    def test_a_larger_job_has_those_that_stand_out_and_one_like_all_others(self):
        folder = write_job(
            "larger", 12, leak=lambda rank: 8 * MiB * (rank == 7), ends=lambda rank: rank != 3,
            also=lambda rank: refuse_request if rank == 9 else None,
        )  # fmt: skip
        answer = ranks(folder)
        middle = answer["groups"][0]["ranks"]
        _page, packet = self.job_page(folder)
        chosen = self.chosen(packet)
        self.assertTrue({3, 7, 9} < set(chosen), chosen)
        self.assertTrue(set(chosen) - {3, 7, 9} <= set(middle), (chosen, middle))
        self.assertLessEqual(len(chosen), 8)
        self.assertEqual(set(packet["rank.recording"]) - {NOT_IN_PAGE}, set(range(len(chosen))))

    def test_pages_bounds_the_recordings(self):
        folder = write_job("bounds", 10, leak=lambda rank: 8 * MiB * (rank == 7))
        for option, count in ("0", 0), ("1", 1), ("all", 10), ("10", 10):
            page, packet = self.job_page(folder, options=["--pages", option])
            self.assertEqual((len(page.recordings), len(self.chosen(packet))), (count, count))
        self.assertEqual(self.chosen(self.job_page(folder, options=["--pages=1"])[1]), [7])

    def test_the_recording_of_a_summary_is_taken_from_the_same_folder(self):
        folder = write_job("beside", 3)
        for rank in range(3):
            summary(f"{folder}/train.r{rank}.gmt.gz")
        os.unlink(f"{folder}/train.r1.gmt.gz")
        page, packet = self.job_page(folder)
        self.assertEqual(packet["rank.recording"], [0, NO_RECORDING, 1])
        self.assertEqual(packet.header["recording_files"][1], f"{folder}/train.r1.gmt.gz")
        self.assertEqual(page.recordings[1]["file"], f"{folder}/train.r2.gmt.gz")

    def test_a_forged_summary_cannot_name_a_recording_of_another_folder(self):
        folder, secret = empty_folder("forged"), write_job("secret", 1)
        path = summary(write_rank(0, 1, "forged"))
        os.unlink(f"{folder}/train.r0.gmt.gz")
        header, blocks = job_story.blocks_of(path)
        head = job_story.with_recording_name(blocks[0][1], "../secret/train.r0.gmt.gz")
        with gzip.open(path, "wb") as file:
            file.write(header + head + b"".join(block for _kind, block in blocks[1:]))
        page, packet = self.job_page(folder)
        self.assertTrue(os.path.exists(f"{secret}/train.r0.gmt.gz"))
        self.assertEqual(packet.header["recording_files"], [f"{folder}/train.r0.gmt.gz"])
        self.assertEqual((page.recordings, packet["rank.recording"]), ([], [NO_RECORDING]))


class Document(RanksPage):
    def test_without_scripts_the_page_has_the_screen_of_ranks(self):
        folder = write_job("text", 4, leak=lambda rank: MiB * (rank == 1))
        page, _packet = self.job_page(folder)
        shown = cli.run("ranks", folder, environment={"COLUMNS": "80"}).stdout
        self.assertIn(shown.splitlines()[0], page.text)
        self.assertIn("first rank 1, from step", page.text)

    def test_the_page_has_the_name_of_the_folder(self):
        write_job("named", 2)
        for operand, name in ("named", "named.html"), ("named/", "named.html"), (".", "ranks.html"):
            cwd = cli.place("named") if operand == "." else cli.FOLDER
            path = os.path.join(cwd, name)
            done = run("ranks", "--html", operand, cwd=cwd)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertTrue(os.path.exists(path), path)
            os.unlink(path)

    def test_wrong_options_are_refused(self):
        folder = write_job("wrong", 2)
        for options, message in (
            (["--html", "--json"], "--html and --json exclude each other"),
            (["--html", "-o", "x"], "--html and --output exclude each other"),
            (["--pages", "3"], "--pages needs --html"),
            (["--html", "--pages", "few"], "a number or `all`, not `few`"),
            (["--html", "--pages", "-1"], "a number or `all`, not `-1`"),
        ):
            done = run("ranks", *options, folder)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(message, done.stderr)

    def test_without_files_there_is_no_page(self):
        target = cli.place("none.html")
        done = run("ranks", f"--html={target}", empty_folder("empty"))
        self.assertEqual(done.returncode, 3)
        self.assertFalse(os.path.exists(target))

    def test_a_damaged_recording_of_a_summary_is_named_and_the_page_is_complete(self):
        folder = write_job("broken", 3)
        summary(f"{folder}/train.r1.gmt.gz")
        with open(f"{folder}/train.r1.gmt.gz", "wb") as file:
            file.write(b"no recording")
        os.utime(f"{folder}/train.r1.gmt.gz", (1, 1))
        page, packet = self.job_page(folder, code=3)
        self.assertEqual(packet["rank.recording"], [0, 1, 2])
        self.assertEqual([bool(row["error"]) for row in page.recordings], [False, True, False])

    def test_strict_fails_for_a_missing_rank_and_the_page_is_there(self):
        folder = empty_folder("strict")
        write_rank(0, 2, "strict")
        page, packet = self.job_page(folder, options=["--strict"], code=4)
        self.assertEqual((packet.header["ranks"]["missing_ranks"], len(page.recordings)), ([1], 1))

    def test_the_page_of_a_large_job_is_small(self):
        folder = job_story.write_large_job(empty_folder("job"))
        page, packet = self.job_page(folder)
        self.assertEqual(packet.header["ranks"], ranks(folder))
        self.assertEqual(packet["rank.steps"], [100] * 4095)
        self.assertLess(len(page.source), 400_000)


class Hostile(RanksPage, hostile_texts.SafeOutput):
    def test_names_of_a_job_stay_texts(self):
        folder = empty_folder("hostile")
        for rank in range(3):
            story = Story(rank=rank, host=SCRIPT, command=SCRIPT.encode(), executable=SCRIPT, pid=10 + rank)
            story.environment = job_story.launcher_variables(
                rank, 4, job=SCRIPT, TORCHELASTIC_RUN_ID=SCRIPT, ROLE_NAME=SCRIPT
            )
            story.alloc(MiB * (1 + rank), f"{SCRIPT}:1 in {SCRIPT}")
            story.write(f"hostile/r{rank}.gmt.gz")
        page, packet = self.job_page(folder)
        self.assertEqual(
            {tag for tag, _ in page.elements.tags}, {"meta", "title", "section", "h2", "p", "pre", "script"}
        )
        self.assertEqual(set(page.elements.scripts) & {"job", "index"}, {"job", "index"})
        self.assertIn(SCRIPT, packet.header["ranks"]["ranks"][0]["host"])

    def test_files_of_any_content_make_a_safe_page(self):
        folder = empty_folder("content")
        for number, path in enumerate(hostile_texts.make_all()):
            shutil.copy(path, f"{folder}/{number}.gmt.gz")
        target = cli.place("content.html")
        done = run("ranks", f"--html={target}", folder)
        self.assertIn(done.returncode, (0, 3, 4), done.stderr)
        with open(target, encoding="utf-8") as file:
            self.check(file.read().replace("\t", " ").encode(), is_log=False)


if __name__ == "__main__":
    cli.main()
