# SPDX-License-Identifier: MIT
"""report --html: the file, its elements, several recordings, hostile texts."""

import glob
import json
import os
import resource
import shutil
import subprocess
import tempfile

import cli
import hostile_texts
import page_packets
import write_recording as w
from definitions import MarkKind, MarkSource, SamplePart
from ledger_story import LedgerStory
from page_checks import CLI, PageChecks, run
from recording import MiB, Story, train

TEMPLATE = os.path.join(cli.TESTS, "cli", "page", "template.html")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class File(PageChecks):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_the_page_has_the_name_of_the_recording_in_the_current_folder(self):
        other = os.path.join(self.folder, "sub")
        os.mkdir(other)
        for name, page in ("run.gmt.gz", "run.html"), ("odd-name", "odd-name.html"):
            path = train(Story()).write(name)
            moved = shutil.move(path, os.path.join(self.folder, name))
            done = run("report", "--html", moved, cwd=other)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(page_packets.Page(os.path.join(other, page)).recordings[0]["file"], moved)

    def test_the_page_is_the_template_with_the_data_at_its_marks(self):
        page = self.page(train(Story()).write("template.gmt.gz"))
        before, between, after = (
            read(TEMPLATE)
            .replace("<!--gpumemtrace summary-->", "\0")
            .replace("<!--gpumemtrace data-->", "\0")
            .split("\0")
        )
        self.assertTrue(page.source.startswith(before))
        self.assertTrue(page.source.endswith(after))
        self.assertEqual(between, "\n")
        self.assertEqual(set(page.elements.scripts), {"index", "recording-0", "device-0-0"})

    def test_a_page_replaces_no_recording(self):
        path = train(Story()).write("kept.gmt.gz")
        whole = open(path, "rb").read()
        done = run("report", f"--html={path}", path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("--force", done.stderr)
        self.assertEqual(open(path, "rb").read(), whole)

    def test_a_page_excludes_other_outputs(self):
        path = train(Story()).write("two.gmt.gz")
        for option in "--json", "--output=x":
            done = run("report", "--html", option, path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("exclude each other", done.stderr)

    def test_a_page_may_go_to_stdout(self):
        path = train(Story()).write("stdout.gmt.gz")
        done = run("report", "--html=-", path)
        self.assertEqual((done.returncode, done.stdout), (0, self.page(path).source))

    def test_a_program_without_the_page_says_what_to_do(self):
        path = train(Story()).write("without.gmt.gz")
        done = run("report", f"--html={cli.place('without.html')}", path, program=cli.CLI)
        if not done.returncode:
            self.assertIn("recording-0", page_packets.Page(cli.place("without.html")).elements.scripts)
            return
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertEqual(done.stderr.count("\n"), 2)
        self.assertIn("built without the page", done.stderr)
        self.assertFalse(os.path.exists(cli.place("without.html")))

    def test_a_full_disk_leaves_the_old_page(self):
        done = run("report", "--html=/dev/full", train(Story()).write("full.gmt.gz"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left on device", done.stderr)

    def test_a_large_page_names_the_failure_of_its_output_and_not_a_closed_pipe(self):
        path = cli.make("large.gmt.gz", events=100_000, sites=2000)
        self.assertGreater(len(self.page(path).source), 300_000)  # more than a pipe holds
        done = run("report", "--html=/dev/full", path)
        self.assertEqual(
            (done.returncode, done.stderr), (3, "gpumemtrace: error: /dev/full: No space left on device\n")
        )
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [CLI, "report", "--html=-", path], stdout=full, stderr=subprocess.PIPE, text=True, env=cli.PLAIN
            )
        error = "gpumemtrace: error: standard output: No space left on device\n"
        self.assertEqual((done.returncode, done.stderr), (3, error))
        with subprocess.Popen(
            [CLI, "report", "--html=-", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.PLAIN
        ) as process:
            process.stdout.read(10)
            process.stdout.close()
            self.assertEqual((process.stderr.read(), process.wait(120)), (b"", 0))

    def test_a_recording_with_a_name_of_any_length_has_a_page(self):
        for name in "x" * 251, "x" * 255, "\u00e9" * 127, "x" + "\u00e9" * 127, "x" * 248 + ".gmt.gz":
            moved = shutil.move(train(Story()).write("short.gmt.gz"), os.path.join(self.folder, name))
            done = run("report", "--html", moved, cwd=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            (page,) = (entry for entry in os.listdir(self.folder) if entry.endswith(".html"))
            self.assertTrue(name.startswith(page.removesuffix(".html")))
            self.assertGreater(len(page.encode()), 250)
            os.unlink(os.path.join(self.folder, page))
            os.unlink(moved)

    def test_too_little_memory_is_one_error_and_no_page(self):
        path = cli.make("memory.gmt.gz", events=200_000, sites=3000, live=20000)
        target, codes = os.path.join(self.folder, "memory.html"), []
        for mebibytes in (*range(4, 60, 4), 400):
            done = run(f"--max-memory={mebibytes}MiB", "report", f"--html={target}", path)
            codes.append(done.returncode)
            self.assertEqual(done.returncode in (0, 3), True, done.stderr)
            if done.returncode:
                self.assertIn("out of memory", done.stderr)
                self.assertFalse(os.path.exists(target), mebibytes)
        self.assertEqual((codes[0], codes[-1]), (3, 0))

    def test_where_memory_ends_while_the_page_is_written_each_recording_is_in_the_index_once(self):
        good, target = train(Story()).write("good.gmt.gz"), cli.place("both.html")
        path = cli.make("big.gmt.gz", events=4000, sites=2000, live=500)

        def errors_within(kibibytes):
            """Returns which recordings of the page have an error, or None without a page."""
            limit = (kibibytes << 10, kibibytes << 10)
            if os.path.exists(target):
                os.unlink(target)
            done = run(
                *("--max-memory=none", "report", f"--html={target}", good, path),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
            )
            if not os.path.exists(target):
                return None
            rows = page_packets.Page(target).recordings
            self.assertEqual([row["file"] for row in rows], [good, path], done.stderr)
            return [row["error"] is not None for row in rows]

        least, most, whole = 10_000, 100_000, [False, False]
        if errors_within(most) != whole:
            self.skipTest("a sanitizer needs more addresses")
        while most - least > 250:
            middle = (least + most) // 2
            least, most = (least, middle) if errors_within(middle) == whole else (middle, most)
        for less in range(0, 1500, 250):
            self.assertIn(errors_within(least - less), (whole, [False, True]))


class Index(PageChecks):
    def test_the_index_describes_the_recording(self):
        path = train(Story(command="/usr/bin/python3\0-u\0-W\0ignore\0work/train.py\0--x", rank=3, host="node")).write(
            "index.gmt.gz"
        )
        page, report = self.page(path), cli.report(path)
        (row,) = page.recordings
        self.assertEqual(page.index["schema"], "gpumemtrace.page/1")
        expected = {
            "file": path,
            "title": "train.py",
            "host": "node",
            "pid": 7,
            "rank": 3,
            "complete": True,
            "duration_ns": report["process"]["duration_ns"],
            "events": report["events"]["replayed"],
            "leaks": len(report["leaks"]),
            "ooms": 0,
            "error": None,
        }
        self.assertEqual({key: row[key] for key in expected}, expected)
        self.assertEqual(
            row["devices"],
            [
                {
                    "device": 0,
                    "name": "A GPU",
                    "total_bytes": 80 << 30,
                    "layer": "torch",
                    "peak_bytes": 5 * MiB,
                    "packet": True,
                }
            ],
        )

    def test_the_packet_has_the_report_without_its_lists(self):
        path = train(Story(), leak=4096).write("report.gmt.gz")
        shown, report = self.page(path).recording().header["report"], cli.report(path)
        self.assertTrue(report["leaks"])
        self.assertEqual(shown, {**report, "sites": [], "refused": []})

    def test_the_packet_has_the_recorders_options_and_cost_as_info_has_them(self):
        path = cli.place("recorder.gmt.gz")
        w.write(
            path,
            w.process(start_stamp=0),
            w.block("option", {"key": "stacks", "value": "all"}, {"key": "output", "value": "</script>.gmt.gz"}),
            w.block("event", *({**w.EVENT, "stamp": i + 1, "address": 4096 * (i + 1)} for i in range(9))),
            w.block("overhead", {"timed_events": 4, "timed_ticks": 800, "long_events": 1, "writer_ns": 5000}),
            w.end(9),
        )
        shown = self.page(path).recording().header["recorder"]
        info = json.loads(cli.run("info", "--json", path).stdout)
        self.assertEqual(shown, {key: info[key] for key in ("file_bytes", "options", "overhead_estimate")})
        self.assertEqual(shown["options"], {"stacks": "all", "output": "</script>.gmt.gz"})
        self.assertEqual(shown["overhead_estimate"]["timed_calls"], 4)

    def test_steps_are_in_order_of_time(self):
        path = train(Story(), steps=30).write("steps.gmt.gz")
        packet = self.page(path).recording()
        self.assertEqual(packet["step.index"], list(range(30)))
        self.assertEqual(packet["step.end_ns"], sorted(packet["step.end_ns"]))
        self.assertEqual(packet.header["series"], [{"source": "program", "name": ""}])

    def test_long_lists_of_steps_and_phases_are_shortened(self):
        story = Story()
        story.alloc(MiB, "/home/me/a.py:1 in f")
        for number in range(25000):
            if number == 12345:
                story.free(story.alloc(MiB, "/home/me/a.py:2 in g"))
            story.step()
            if number < 2500:
                story.marks.append(w.mark(story.stamp + 1, MarkKind.PUSH, MarkSource.PROGRAM, name=story.name("p")))
                story.marks.append(w.mark(story.stamp + 2 + (number % 5 > 0), MarkKind.POP, MarkSource.PROGRAM))
        story.alloc(MiB, "/home/me/a.py:1 in f")
        path = story.write("lists.gmt.gz")
        packet = self.page(path).recording()
        index = packet["step.index"]
        self.assertEqual((len(index), index[-1]), (20000, 24999))
        self.assertEqual({later - first for first, later in zip(index, index[1:])}, {1, 2})
        shown, report = packet.header["report"], cli.report(path)
        self.assertEqual((len(shown["steps"]), len(report["steps"]), shown["phases"]), (4096, 25000, []))
        self.assertTrue(all(step in report["steps"] for step in shown["steps"][::64]))
        peak = max(report["steps"], key=lambda step: step["devices"][0]["peak_bytes"])
        self.assertEqual(peak["index"], 12345)
        self.assertIn(peak, shown["steps"])
        phases = packet.header["phases"]
        self.assertEqual((len(phases), packet.header["phases_left_out"]), (2000, 500))
        self.assertEqual({row["end_ns"] - row["begin_ns"] for row in phases}, {2})
        self.assertEqual(phases, sorted(phases, key=lambda row: row["begin_ns"]))

    def test_phases_that_begin_after_the_moment_are_left_out(self):
        story, begins = Story(), []
        for number in range(4):
            begins.append(story.stamp + 5)
            story.marks.append(
                w.mark(story.stamp + 5, MarkKind.PUSH, MarkSource.PROGRAM, name=story.name(f"phase {number}"))
            )
            story.alloc(MiB << number, f"/home/me/a.py:{number} in f")
            story.marks.append(w.mark(story.stamp + 5, MarkKind.POP, MarkSource.PROGRAM))
        path = story.write("phases.gmt.gz")
        whole = cli.report(path)
        self.assertEqual([row["name"] for row in whole["phases"]], [f"phase {number}" for number in range(4)])
        moment = whole["phases"][1]["begin_ns"]
        for until, count in (moment - 1, 1), (moment, 2), (moment + 1, 2):
            names = [f"phase {number}" for number in range(count)]
            report = cli.report(path, f"--until={until}")
            self.assertEqual([row["name"] for row in report["phases"]], names)
            page = self.page(path, options=[f"--until={until}"])
            self.assertEqual([row["name"] for row in page.recording().header["phases"]], names)
            layers = [layer for layer in page.device(0).header["layers"] if layer["layer"] == "torch"]
            self.assertLessEqual(set(layers[0]["phase_names"]), {*names, ""})
        self.assertEqual(cli.run("report", "--full", f"--until={moment}", path).stdout.count("phase 2"), 0)

    def test_samples_of_the_device_have_the_most_of_each_interval(self):
        story = LedgerStory()
        story.cuda(100)
        for number in range(50):
            story.sample(200 + number)
        packet = self.page(story.write("samples.gmt.gz")).device(0)
        self.assertEqual(packet["sample.used_bytes"], [(200 + number) * MiB for number in range(50)])
        self.assertEqual(set(packet["sample.total_bytes"]), {1000 * MiB})
        many = LedgerStory()
        many.cuda(100)
        for number in range(20000):
            many.sample(900 if number == 12345 else 200 + number % 7)
        many.sample(1, known=SamplePart.NVML)
        packet = self.page(many.write("samples-2.gmt.gz")).device(0)
        self.assertTrue(2000 < len(packet["sample.ns"]) <= 4096)
        self.assertEqual(max(packet["sample.used_bytes"]), 900 * MiB)
        self.assertEqual(packet["sample.ns"], sorted(packet["sample.ns"]))

    def test_several_recordings_are_one_page(self):
        paths = [train(Story(), size=number * MiB).write(f"several-{number}.gmt.gz") for number in (1, 2, 3)]
        page = self.page(*paths)
        self.assertEqual([row["file"] for row in page.recordings], paths)
        for number, path in enumerate(paths):
            self.check_peaks(self.check_sums(page, number), cli.report(path))
        self.assertEqual([page.text.count(path) > 0 for path in paths], [True] * 3)

    def test_a_recording_that_cannot_be_read_stands_in_the_index_with_its_error(self):
        good = train(Story()).write("good.gmt.gz")
        page = self.page("no-such-file", good, code=3)
        missing, found = page.recordings
        self.assertEqual((missing["file"], missing["devices"]), ("no-such-file", []))
        self.assertIn("No such file", missing["error"])
        self.assertIsNone(found["error"])
        self.assertEqual(set(page.elements.scripts), {"index", "recording-1", "device-1-0"})
        self.check_sums(page, 1)

    def test_no_page_is_written_if_no_recording_can_be_read(self):
        target = cli.place("none.html")
        self.assertEqual(run("report", f"--html={target}", "no-such-file").returncode, 3)
        self.assertFalse(os.path.exists(target))

    def test_recordings_without_events_with_one_and_cut_ones_have_a_page(self):
        nothing = cli.place("nothing.gmt.gz")
        w.write(nothing, w.process(), w.end(0))
        page = self.page(nothing)
        self.assertEqual(page.devices(), [])
        one = Story()
        one.alloc(MiB, "/home/me/a.py:1 in f")
        page = self.check_page(one.write("one.gmt.gz"), boundaries=())
        (layer,) = self.check_sums(page).values()
        self.assertEqual(layer.buckets[-1].end_bytes, MiB)
        whole = cli.make("cut.gmt.gz", events=20000)
        with open(whole, "r+b") as file:
            file.truncate(os.path.getsize(whole) // 2)
        page = self.check_page(whole)
        self.assertFalse(page.recordings[0]["complete"])


class Hostile(PageChecks, hostile_texts.SafeOutput):
    def test_no_text_of_a_recording_leaves_its_element(self):
        usual = {tag for tag, _ in self.page(train(Story()).write("usual.gmt.gz")).elements.tags}
        for path in hostile_texts.make_all():
            with self.subTest(path=path):
                page = self.page(path)
                self.check_elements(page, usual)
                self.check(read(cli.place("page.html")).replace("\t", " ").encode(), is_log=False)
                for number in range(len(page.recordings)):
                    self.check_sums(page, number)

    def test_the_sums_hold_for_damaged_recordings_too(self):
        path, count = cli.place("damaged.gmt.gz"), 0
        for seed in sorted(glob.glob(os.path.join(hostile_texts.SEEDS, "*"))):
            with open(seed, "rb") as file:
                hostile_texts.write_content(file.read(), path)
            target = cli.place("damaged.html")
            done = run("report", f"--html={target}", "--force", path)
            self.assertIn(done.returncode, (0, 3, 4), done.stderr)
            if done.returncode != 3:
                with self.subTest(seed=seed):
                    self.check_sums(page_packets.Page(target))
                    count += 1
        self.assertGreater(count, 20)

    def check_elements(self, page, usual):
        self.assertLessEqual({tag for tag, _ in page.elements.tags}, usual)
        for tag, attributes in page.elements.tags:
            self.assertLessEqual(set(attributes), {"id", "type", "charset"}, (tag, attributes))
        self.assertTrue(page.source.endswith('<p id="end">The end.</p>\n'))

    def test_an_ending_tag_in_a_name_stays_a_text(self):
        name = "</script><script>alert(1)</script></pre><!--<script>"
        story = Story(host=name, command=f"python\0{name}")
        story.alloc(MiB, f"/home/me/{name.replace(' ', '')}.py:3 in {name.replace(' ', '')}")
        story.marks.append(w.mark(story.stamp, 2, 1, name=story.name(name)))
        page = self.page(story.write("script.gmt.gz"))
        self.check_elements(page, {"meta", "title", "section", "h2", "p", "pre", "script"})
        self.assertEqual(page.recordings[0]["host"], name)
        self.assertIn("alert(1)", page.text)
        strings = page.recording().header["strings"]
        self.assertTrue(any(name in text for text in strings))

    def test_the_name_of_a_file_stays_a_text(self):
        path = os.path.join(cli.FOLDER, "a<b>&amp;\"'\x1b[2J.gmt.gz")
        shutil.copy(train(Story()).write("name.gmt.gz"), path)
        page = self.page(path)
        self.assertEqual(page.recordings[0]["file"], path)
        self.assertNotIn("\x1b", page.source)
        missing = self.page(path, "</script>", code=3)
        self.assertEqual(missing.recordings[1]["file"], "</script>")


if __name__ == "__main__":
    cli.main()
