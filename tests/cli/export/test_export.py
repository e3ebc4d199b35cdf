# SPDX-License-Identifier: MIT
"""`export --format`: options, names of files, and what is left after a failure."""

import os
import unittest

import cli
import exports
import write_recording as w


def run(*words, code=0, **more):
    done = cli.run("export", *words, **more)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = exports.training("options.gmt.gz")

    def refused(self, *words):
        done = run(*words, self.path, code=2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_an_option_of_another_format_is_a_usage_error_of_one_line(self):
        for words in (
            ["--format=folded", "--table=sites"],
            ["--format=folded", "--max-events=3"],
            ["--format=speedscope", "--value=blocks"],
            ["--format=pprof", "--at=end"],
            ["--format=torch", "--from=step:1"],
            ["--format=folded", "--python=python3"],
            ["--format=csv", "-ox", "--layer=cuda"],
            ["--format=arrow", "-ox", "--at=peak"],
            ["--format=parquet", "-ox", "--native=all"],
        ):
            self.assertRegex(self.refused(*words), r"export: --[a-z-]+ has no meaning for --format=[a-z]+\n$")

    def test_options_that_contradict_each_other_are_refused(self):
        for words, text in (
            (["--at=4s", "--until=5s"], "--at and --until exclude each other"),
            (["--from=1s", "--phase=x"], "--from and --phase exclude each other"),
            (["--until=1s", "--phase=x"], "--until and --phase exclude each other"),
            (["--at=peak", "--value=allocated"], "--at has no meaning for all allocations of --value"),
            (["--device=gpu0"], "--device: `gpu0` is not valid: it takes a number or `host`"),
            (["--device=3"], "nothing was allocated in layer torch on GPU 3"),
            (["--layer=custom"], "nothing was allocated in layer custom"),
            (["--phase=x"], "there is no phase `x`"),
        ):
            self.assertIn(text, self.refused("--format=folded", "-o-", *words))
        self.assertIn("takes one recording", self.refused("--format=folded", self.path))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = cli.place(f"files-{self.id()}")
        os.mkdir(self.folder)
        self.path = exports.training("named.gmt.gz")

    def test_the_file_has_the_name_of_the_recording_and_the_suffix_of_the_format(self):
        done = run("--format=folded", self.path, cwd=self.folder)
        self.assertEqual(done.stdout, "wrote named.folded: layer torch, not cuda (--layer=cuda)\n")
        self.assertEqual(done.stderr, "")
        self.assertEqual(os.listdir(self.folder), ["named.folded"])
        done = run("--format=folded", "--layer=cuda", "-o", "x", self.path, cwd=self.folder)
        self.assertEqual(done.stdout, "wrote x: layer cuda, not torch (--layer=torch)\n")

    def test_stdout_gets_the_file_alone(self):
        run("--format=folded", self.path, cwd=self.folder)
        with open(os.path.join(self.folder, "named.folded"), "rb") as file:
            self.assertEqual(exports.export("folded", self.path), file.read())

    def test_the_newest_recording_is_the_default(self):
        os.link(self.path, os.path.join(self.folder, "new.gmt.gz"))
        done = run("--format=folded", cwd=self.folder)
        self.assertIn("new.gmt.gz", done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "new.folded")))

    def test_a_failure_leaves_the_old_file(self):
        old = os.path.join(self.folder, "old")
        with open(old, "w", encoding="utf-8") as file:
            file.write("old")
        run("--format=folded", "--device=7", "-o", old, self.path, code=2)
        with open(old, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(os.listdir(self.folder), ["old"])

    def test_a_recording_is_not_replaced(self):
        before = os.path.getsize(self.path)
        run("--format=folded", "-o", self.path, self.path, code=3)
        self.assertEqual(os.path.getsize(self.path), before)

    def test_a_full_disk_leaves_no_file(self):
        done = run("--format=folded", "-o", "/dev/full", self.path, code=3)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_an_incomplete_recording_is_an_exit_code_on_request(self):
        path = cli.make("cut.gmt.gz", events=200, end=0, torch=0, devices=1)
        run("--format=folded", "-o", "-", path)
        run("--format=folded", "-o", "-", "--strict", path, code=4)

    def test_a_recording_of_nothing_says_so(self):
        path = cli.place("nothing.gmt.gz")
        w.write(path, w.process(), w.end(0))
        self.assertIn("nothing was allocated", run("--format=folded", "-o", "-", path, code=2).stderr)


if __name__ == "__main__":
    cli.main()
