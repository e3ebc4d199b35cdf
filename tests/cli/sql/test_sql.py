# SPDX-License-Identifier: MIT
"""The verb `sql`, and the database of `export --format=sqlite`: their numbers are those of the report."""

import csv
import io
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import unittest

import cli
import exports
import sql_page
import tap

PAGE = os.path.join(cli.SOURCE, "docs", "data", "sql.md")


def ask(*words, code=0):
    done = cli.run("sql", "--json", *words)
    assert done.returncode == code, (done.returncode, done.stderr)
    return [tuple(row.values()) for row in json.loads(done.stdout)]


def rounded(rows):
    """Returns rows with rounded fractions, because JSON has ten digits of a fraction."""
    return [tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in rows]


def export(path, name, *options):
    out = cli.place(name)
    done = cli.run("export", "--format=sqlite", "--force", "-o", out, *options, path)
    assert done.returncode == 0, done.stderr
    return out


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("training.gmt.gz")
        cls.accounts = {
            (layer, -1 if device is None else device): one
            for (layer, device), one in exports.accounts(cls.path).items()
        }

    def test_a_folder_stands_for_its_recordings(self):
        folder = cli.place("job-of-sql")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "host1"))
        paths = [os.path.join(folder, "host1", "b.gmt.gz"), os.path.join(folder, "rank0.gmt.gz")]
        for path in paths:
            shutil.copy(self.path, path)
        with open(os.path.join(folder, "train.log"), "w", encoding="utf-8") as file:
            file.write("step 1\n")
        question = "select path, (select count(*) from blocks where recording = recordings.recording) from recordings"
        blocks = ask(self.path, question)[0][1]
        self.assertEqual(ask(folder, question), [(path, blocks) for path in paths])
        self.assertEqual(ask(export(folder, "job.sqlite"), question), [(path, blocks) for path in paths])
        with open(os.path.join(folder, "rank1.gmt.gz"), "wb"):
            pass
        self.assertEqual(ask(folder, question), [(path, blocks) for path in paths])
        done = cli.run("export", "--format=sqlite", "--force", "job-of-sql/")
        self.assertIn("wrote job-of-sql.sqlite", done.stdout)
        self.assertIn("train.log", done.stderr)
        self.assertIn("rank1.gmt.gz: is left out: it is empty", done.stderr)
        os.makedirs(cli.place("empty-folder"), exist_ok=True)
        done = cli.run("sql", "empty-folder", "select 1 from sites")
        self.assertEqual(done.returncode, 3)
        self.assertIn("empty-folder: there is no recording in this folder", done.stderr)

    def test_sites_sum_to_the_report_for_each_layer_and_device(self):
        rows = ask(
            self.path,
            "select layer, device, sum(peak_bytes), sum(live_bytes), sum(allocs), sum(frees), sum(total_bytes) "
            "from sites group by layer, device",
        )
        expected = {
            key: tuple(
                one[name] for name in ("peak_bytes", "live_bytes", "alloc_count", "free_count", "total_alloc_bytes")
            )
            for key, one in self.accounts.items()
        }
        self.assertEqual({row[:2]: row[2:] for row in rows}, expected)

    def test_blocks_have_each_allocation_and_what_is_live(self):
        rows = ask(
            self.path,
            "select layer, device, count(*), count(freed_time_ns), "
            "sum(case when freed_time_ns is null then size_bytes else 0 end) from blocks group by layer, device",
        )
        expected = {
            key: (one["alloc_count"], one["free_count"], one["live_bytes"]) for key, one in self.accounts.items()
        }
        self.assertEqual({row[:2]: row[2:] for row in rows}, expected)

    def test_the_running_sum_over_the_events_of_nsight_has_the_peaks_of_layer_cuda(self):
        database = sqlite3.connect(export(self.path, "nsight.sqlite"))
        live, peak = {}, {}
        for device, size, operation in database.execute(
            "select deviceId, bytes, memoryOperationType from CUDA_GPU_MEMORY_USAGE_EVENTS order by start"
        ):
            device = -1 if device is None else device
            live[device] = live.get(device, 0) + (size if operation == 0 else -size)
            peak[device] = max(peak.get(device, 0), live[device])
        expected = {device: one for (layer, device), one in self.accounts.items() if layer == "cuda"}
        self.assertEqual(peak, {device: one["peak_bytes"] for device, one in expected.items()})
        self.assertEqual(live, {device: one["live_bytes"] for device, one in expected.items()})

    def test_the_questions_of_the_page_have_the_answers_of_the_page(self):
        questions = sql_page.questions(PAGE)
        self.assertEqual(len(questions), 10)
        for question in questions:
            with self.subTest(question=question.title):
                self.assertEqual(sql_page.shown(ask(self.path, question.statements[-1])), question.answer)

    def test_the_answers_of_the_page_are_numbers_of_the_report(self):
        torch = self.accounts["torch", 0]
        answers = [ask(self.path, question.statements[-1]) for question in sql_page.questions(PAGE)]
        for layer, device, live in answers[1]:
            self.assertEqual(live, self.accounts[layer, device]["live_bytes"])
        self.assertEqual(answers[8][0][1], torch["peak_bytes"])
        report = cli.report(self.path)
        allocated = sum(one["total_alloc_bytes"] for (layer, _), one in self.accounts.items() if layer == "torch")
        self.assertEqual(sum(row[2] for row in answers[6]), allocated)
        self.assertEqual(report["schema"][: len("gpumemtrace.report")], "gpumemtrace.report")

    def test_a_written_database_answers_as_the_recording_does(self):
        written = export(self.path, "all.sqlite")
        database = sqlite3.connect(written)
        self.assertEqual(database.execute("pragma integrity_check").fetchall(), [("ok",)])
        names = [row[0] for row in ask(self.path, ".tables") if row[0] not in ("curve", "texts", "StringIds")]
        self.assertIn("blocks", names)
        for name in names:
            with self.subTest(table=name):
                statement = f'select * from "{name}"'
                rows = rounded(database.execute(statement).fetchall())
                self.assertEqual(rows, rounded(ask(self.path, statement)))
                self.assertEqual(rows, rounded(ask(written, statement)))

    def test_only_the_wanted_tables_are_written(self):
        database = sqlite3.connect(export(self.path, "one.sqlite", "--table=curve", "--table=sites"))
        names = {row[0] for row in database.execute("select name from sqlite_master where name like 'stored%'")}
        self.assertEqual(names, {"stored_curve", "stored_sites"})
        done = cli.run("export", "--format=sqlite", "--table=nothing", self.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no table has the name `nothing`", done.stderr)

    def test_several_recordings_have_numbers_in_the_order_of_the_operands(self):
        other = exports.training("longer.gmt.gz", steps=9)
        rows = ask(
            self.path,
            other,
            "select path, count(*) from recordings join steps using (recording) "
            "where layer = 'torch' and device = 0 group by recording order by recording",
        )
        self.assertEqual(rows, [(self.path, 6), (other, 9)])

    def test_standard_output_gets_the_bytes_of_the_file(self):
        with open(export(self.path, "file.sqlite"), "rb") as file:
            expected = file.read()
        self.assertEqual(exports.export("sqlite", self.path), expected)


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("output.gmt.gz")

    def test_text_has_a_heading_and_numbers_to_the_right(self):
        done = cli.run("sql", self.path, "select 'a' as name, 5 as n union all select 'long name', 1000")
        self.assertEqual(done.stdout, "name          n\na             5\nlong name  1000\n")

    def test_text_hides_what_a_terminal_would_obey(self):
        done = cli.run("sql", self.path, "select char(27) || '[2J' || char(10) as x")
        self.assertEqual(done.stdout, "x\n?[2J?\n")

    def test_csv_quotes_separators(self):
        done = cli.run("sql", "--csv", self.path, "select 'a,b' as x, 'say \"y\"' as y, null as z")
        self.assertEqual(list(csv.reader(io.StringIO(done.stdout))), [["x", "y", "z"], ["a,b", 'say "y"', ""]])

    def test_more_rows_than_the_heading_waits_for(self):
        count = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
        done = cli.run("sql", self.path, count)
        self.assertEqual([int(line) for line in done.stdout.split()[1:]], list(range(1, 5001)))
        self.assertEqual([row[0] for row in ask(self.path, count)], list(range(1, 5001)))

    def test_bytes_shows_a_size(self):
        self.assertEqual(
            ask(self.path, "select bytes(1536), bytes(-1536), bytes(null)"), [("1.50 KiB", "-1.50 KiB", None)]
        )

    def test_statements_come_from_standard_input(self):
        with open(cli.place("statements.sql"), "w+", encoding="utf-8") as file:
            file.write("select 1 as a;\n\nselect 'x;y' as b,\n  2 as c;\nselect 3 as last")
            file.seek(0)
            done = subprocess.run([cli.CLI, "sql", "--csv", self.path], stdin=file, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "a\n1\nb,c\nx;y,2\nlast\n3\n"))

    def test_the_prompt_goes_on_after_a_wrong_statement(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [cli.CLI, "sql", self.path], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            os.close(theirs)
            os.write(ours, b"selec 1;\nselect 40 +\n2 as answer;\n.quit\n")
            out, err = running.communicate(timeout=60)
        os.close(ours)
        self.assertEqual(running.returncode, 0)
        self.assertIn("syntax error", err)
        self.assertIn("answer\n    42\n", out)


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("failures.gmt.gz")

    def fails(self, code, text, *words):
        done = cli.run("sql", *words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(text, done.stderr)
        self.assertNotIn("\n", done.stderr.replace("hint", "").rstrip("\n").replace("\ngpumemtrace: : ", " "))

    def test_each_failure_is_a_message_with_its_exit_code(self):
        self.fails(2, 'near "selec": syntax error', self.path, "selec 1")
        self.fails(2, "no such table: absent", self.path, "select * from absent")
        self.fails(2, "no such command", self.path, ".mode box")
        self.fails(2, "--json and --csv exclude each other", "--json", "--csv", self.path, "select 1")
        self.fails(3, "No such file", cli.place("missing.gmt.gz"), "select 1")
        self.fails(3, "No such file", cli.place("missing.gmt.gz"))
        other = cli.place("other.txt")
        with open(other, "w", encoding="utf-8") as file:
            file.write("no recording")
        self.fails(3, "other.txt", other, "select count(*) from sites")

    def test_a_written_database_is_not_changed(self):
        written = export(self.path, "kept.sqlite")
        done = cli.run("sql", written, "delete from stored_sites")
        self.assertEqual(done.returncode, 2)
        self.assertIn("readonly", done.stderr)

    def test_a_full_disk_leaves_no_file(self):
        folder = cli.place("full")
        os.mkdir(folder)
        out = os.path.join(folder, "x.sqlite")
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f 20; exec "$0" export --format=sqlite -o "$1" "$2"', cli.CLI, out, self.path],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("x.sqlite: ", done.stderr)
        self.assertEqual(os.listdir(folder), [])
        done = cli.run("export", "--format=sqlite", "--force", "-o", "/dev/full", self.path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left", done.stderr)

    def test_a_cut_recording_gives_its_readable_part_and_4_with_strict(self):
        cut = cli.place("cut.gmt.gz")
        shutil.copy(self.path, cut)
        os.truncate(cut, os.path.getsize(cut) - 40)
        self.assertEqual(cli.run("sql", "--strict", cut, "select count(*) from events").returncode, 4)
        self.assertEqual(cli.run("sql", cut, "select count(*) from events").returncode, 0)


if __name__ == "__main__":
    tap.main()
