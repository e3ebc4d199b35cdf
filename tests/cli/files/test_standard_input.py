# SPDX-License-Identifier: MIT
"""The operand `-`: each verb reads standard input as it reads a file, or says in one line why it does not."""

import os
import pickle
import re
import socket
import subprocess
import tempfile
import unittest

import cli

# Verbs that read one recording, and what each needs besides. `diff` and those that refuse are tested apart.
READERS = {
    "report": [[], ["--json"], ["--full"], ["--json", "--from", "1ms"]],
    "leaks": [[], ["--json"]],
    "check": [[], ["--json"]],
    "info": [[], ["--coverage"]],
    "tree": [[], ["--json"], ["--at", "end"]],
    "flamegraph": [[]],
    "dump": [[], ["--record", "process"], ["--from", "20ms", "--json"], ["--until", "peak"], ["--strict"]],
}
REFUSES = {
    "ranks": "a job has several files",
    "recover": "it completes files in place",
    "summarize": "it has no name",
    "export": "several processes read the recordings",
    "top": "a pipe has no end to wait for",
}
CUT = (
    "gpumemtrace: warning: standard input: it ends in the middle: the process was killed, or the file was cut; "
    "the output covers the "
)


class Verbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Larger than a pipe and than the reader's buffers.
        cls.path = cli.make("whole.gmt.gz", events=60000, steps=20)
        with open(cls.path, "rb") as file:
            cls.data = file.read()
        assert len(cls.data) > 1 << 18

    def piped(self, *words, data=None, **more):
        return cli.run(*words, input=self.data if data is None else data, text=False, **more)

    def with_dash(self, output):
        """Returns what the program prints about the file, with `-` for its name.

        Without the commands at the end of a report, whose places depend on the length of the name.
        """
        output = output.replace(self.path.encode(), b"-").replace(os.path.basename(self.path).encode(), b"-")
        return output.partition(b"\nnext: ")[0]

    def test_each_verb_is_tested_here(self):
        self.assertEqual({*READERS, *REFUSES, "diff", "fold", "sql"}, set(cli.verbs_that_read()))

    def test_a_pipe_and_a_redirected_file_give_the_output_of_the_file(self):
        for verb, all_words in READERS.items():
            for words in all_words:
                with self.subTest(verb=verb, words=words):
                    expected = cli.run(verb, *words, self.path, text=False)
                    self.assertIn(expected.returncode, (0, 1), expected.stderr)
                    self.assertTrue(expected.stdout)
                    with open(self.path, "rb") as file:
                        redirected = cli.run(verb, *words, "-", text=False, stdin=file)
                    for done in self.piped(verb, *words, "-"), redirected:
                        self.assertEqual((done.returncode, done.stderr), (expected.returncode, expected.stderr))
                        self.assertEqual(self.with_dash(done.stdout), self.with_dash(expected.stdout))

    def test_a_socket_and_small_writes_are_read_too(self):
        expected = self.with_dash(cli.run("info", self.path, text=False).stdout)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen([cli.CLI, "info", "-"], stdin=theirs, stdout=subprocess.PIPE, env=cli.PLAIN)
            theirs.close()
            for at in range(0, len(self.data), 9999):
                ours.sendall(self.data[at : at + 9999])
            ours.close()
            self.assertEqual(self.with_dash(process.communicate(timeout=60)[0]), expected)

    def test_diff_takes_one_side_from_a_pipe(self):
        newer = cli.make("newer.gmt.gz", events=50000, steps=20)
        for words in [self.path, newer], [newer, self.path]:
            expected = cli.run("diff", *words, text=False)
            done = self.piped("diff", *("-" if word == self.path else word for word in words))
            self.assertEqual((done.returncode, self.with_dash(done.stdout)), (0, self.with_dash(expected.stdout)))

    def test_sql_takes_its_recording_from_a_pipe_and_then_needs_a_statement(self):
        expected = cli.run("sql", self.path, "select count(*) from events", text=False)
        done = self.piped("sql", "-", "select count(*) from events")
        self.assertEqual((done.returncode, done.stdout), (0, expected.stdout), done.stderr)
        # The second statement reads another table of the pipe that was read for the first.
        both = "select count(*) from events; select count(*) from blocks"
        wanted = cli.run("sql", self.path, both, text=False)
        done = self.piped("sql", "-", both)
        self.assertEqual((done.returncode, done.stdout), (0, wanted.stdout), done.stderr)
        done = self.piped("sql", "-")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"sql: `-`: the statement is missing", done.stderr)

    def test_several_files_may_have_a_pipe_among_them(self):
        other = cli.make("other.gmt.gz")
        expected = cli.run("report", "--json", other, self.path, other, text=False)
        done = self.piped("report", "--json", other, "-", other)
        self.assertEqual((done.returncode, self.with_dash(done.stdout)), (0, self.with_dash(expected.stdout)))

    def test_a_pipe_can_be_named_once(self):
        for words in ["report", "-", "-"], ["diff", "-", "-"], ["info", "-", "-"]:
            done = self.piped(*words)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(done.stderr, b"gpumemtrace: error: standard input: can be read only once: name `-` once\n")

    def test_fold_writes_the_same_recording(self):
        for words in [], ["--keep-events", "5000"]:
            outputs = []
            for name, operand in ("of-file", self.path), ("of-pipe", "-"):
                outputs.append(cli.place(name))
                done = self.piped("fold", *words, "--force", "-o", outputs[-1], operand)
                self.assertEqual(done.returncode, 0, done.stderr)
            with open(outputs[0], "rb") as expected, open(outputs[1], "rb") as got:
                self.assertEqual(expected.read(), got.read())

    def test_import_reads_a_file_of_another_tool(self):
        snapshot = pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 1, "size": 7}]]})
        out = cli.place("imported.gmt.gz")
        self.assertEqual(self.piped("import", "-o", out, "-", data=snapshot).returncode, 0)
        self.assertEqual(cli.report(out)["devices"][0]["layers"][1]["live_bytes"], 7)
        done = self.piped("import", "-", data=snapshot)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"import: `-`: it has no name", done.stderr)
        done = self.piped("import", "--force", "-o", out, "-", data=b"")
        self.assertEqual(done.stderr, b"gpumemtrace: error: standard input: is empty\n")

    def test_a_summary_and_a_page_get_a_name(self):
        outputs = []
        for name, operand in ("summary-1", self.path), ("summary-2", "-"):
            outputs.append(cli.place(name))
            done = self.piped("summarize", "-o", outputs[-1], operand)
            self.assertEqual(done.returncode, 0, done.stderr)
        ranks = [cli.run("ranks", "--json", path).stdout for path in outputs]
        self.assertTrue(ranks[0])
        self.assertEqual(re.sub(r'"file":"[^"]*"', "", ranks[0]), re.sub(r'"file":"[^"]*"', "", ranks[1]))
        page = subprocess.run(
            [os.environ["GMT_TEST_PAGE_CLI"], "report", "--html", "-"],
            input=self.data,
            capture_output=True,
            env=cli.PLAIN,
            cwd=cli.FOLDER,
        )
        self.assertEqual(page.returncode, 2)
        self.assertIn(b"report: `-`: it has no name: --html=FILE names the page\n", page.stderr)
        self.assertFalse(os.path.exists(cli.place("-.html")))

    def test_verbs_that_need_files_refuse_in_one_line(self):
        for verb, why in REFUSES.items():
            words = ["-o", cli.place("folder")] if verb == "export" else []
            done = self.piped(verb, *words, "-")
            self.assertEqual(done.returncode, 2, done.stderr)
            (line,) = done.stderr.decode().splitlines()
            self.assertTrue(line.startswith(f"gpumemtrace: error: {verb}: `-`: {why}"), line)

    def test_a_stream_that_ends_early_is_a_cut_recording(self):
        for verb in "report", "leaks", "info":
            done = self.piped(verb, "-", data=self.data[: len(self.data) // 2])
            self.assertEqual(done.returncode, 0)
            (line,) = done.stderr.decode().splitlines()
            self.assertTrue(line.startswith(CUT), line)
            self.assertEqual(self.piped(verb, "--strict", "-", data=self.data[:-20]).returncode, 4)

    def test_what_is_no_recording_is_one_line(self):
        for data, why in (
            (b"", "is empty"),
            (b"hello", "is not a gzip file, so not a gpumemtrace recording"),
            (self.data[:20], "cannot be read: it ends within its header"),
        ):
            for verb in *READERS, "fold":
                words = ["-o", cli.place("no-fold")] if verb == "fold" else []
                done = self.piped(verb, *words, "-", data=data)
                self.assertEqual(done.returncode, 3)
                self.assertEqual(done.stderr.decode(), f"gpumemtrace: error: standard input: {why}\n")
        folder = os.open(cli.FOLDER, os.O_RDONLY)
        done = cli.run("report", "-", stdin=folder)
        os.close(folder)
        self.assertEqual(done.stderr, "gpumemtrace: error: standard input: cannot be read: Is a directory\n")

    def test_a_terminal_is_refused(self):
        primary, secondary = os.openpty()
        done = cli.run("report", "-", stdin=secondary)
        os.close(primary)
        os.close(secondary)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard input: is a terminal", done.stderr)

    def test_a_file_of_this_name_is_read_by_its_path(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(self.path, os.path.join(folder, "-"))
            for verb, words in READERS.items():
                self.assertEqual(cli.run(verb, *words[0], "--", "./-", cwd=folder).stderr, "")
                self.assertEqual(cli.run(verb, *words[0], "-", cwd=folder, input="").returncode, 3)

    def test_an_address_gets_a_hint(self):
        done = cli.run("report", "s3://bucket/train.gmt.gz")
        self.assertEqual(done.returncode, 3)
        self.assertIn("`aws s3 cp s3://bucket/train.gmt.gz - | gpumemtrace VERB -`", done.stderr)

    def test_the_bytes_are_kept_only_for_a_second_pass(self):
        with open(cli.make("long.gmt.gz", events=600000), "rb") as file:
            data = file.read()
        self.assertGreater(len(data), 7 << 20)
        for words in [], ["--from=0s"]:
            done = self.piped("--max-memory=6MiB", "dump", "--record=end", *words, "-", data=data)
            self.assertEqual(done.returncode, 3 if words else 0)
            self.assertEqual(done.stdout == b"", bool(words))
        (line,) = done.stderr.decode().splitlines()
        self.assertTrue(line.startswith("gpumemtrace: error: standard input: out of memory: this needs more"), line)


if __name__ == "__main__":
    cli.main()
