# SPDX-License-Identifier: MIT
"""Recordings whose texts are all hostile: no verb prints anything that a terminal, a log or a shell executes."""

import json
import os
import subprocess
import xml.etree.ElementTree as ET

import cli
from cli import verbs_that_read
from hostile_texts import FILE_NAME, HOSTILE, SafeOutput, make_all


class Hostile(SafeOutput):
    @classmethod
    def setUpClass(cls):
        cls.paths = make_all()
        assert len(cls.paths) > 6, cls.paths
        cls.odd = os.path.join(cli.FOLDER.encode(), FILE_NAME)
        with open(cls.paths[0], "rb") as one, open(cls.odd, "wb") as other:
            other.write(one.read())

    def run_all(self, *arguments, environment=None, parse=None, codes=(0,), is_log=True):
        for path in (*self.paths, self.odd):
            done = cli.run(*arguments, path, environment=environment, text=False)
            self.assertIn(done.returncode, codes, (path, done.stderr))
            self.check(done.stdout)
            self.check(done.stderr, is_log)
            if parse:
                parse(done.stdout)

    def test_report_is_safe_in_every_form(self):
        self.run_all("report")
        self.run_all("report", "--json", parse=json.loads)

    def test_leaks_are_safe_in_every_form(self):
        self.run_all("leaks", "--definition=all", "--age-steps=1")
        self.run_all("leaks", "--definition=all", "--age-steps=1", "--json", parse=json.loads)

    def test_info_is_safe_in_every_form(self):
        self.run_all("info")
        self.run_all("info", "--coverage")
        self.run_all("info", "--json", "--coverage", parse=json.loads)

    def test_dump_is_safe_in_every_form(self):
        self.run_all("dump")
        self.run_all("dump", "--json", parse=lambda out: [json.loads(line) for line in out.splitlines()])

    def test_recover_is_safe_if_nothing_can_be_recovered(self):
        for path in (self.paths[0].encode(), self.odd, b"\x1b[2J\xc2\x9b::error::"):
            done = cli.run("recover", path, text=False)
            self.check(done.stdout + done.stderr)

    def test_diff_is_safe_in_every_form(self):
        for by in "group", "stack", "line":
            self.run_all("diff", "--by", by, self.paths[1], codes=(0, 2))
        self.run_all("diff", "--json", self.paths[1], codes=(0, 2), parse=lambda out: out and json.loads(out))

    def test_fold_is_safe_and_so_is_the_report_of_what_it_wrote(self):
        for path in (*self.paths, self.odd):
            small = cli.place("small.gmt.gz")
            if os.path.exists(small):
                os.unlink(small)
            done = cli.run("fold", path, "-o", small, text=False)
            self.check(done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            warned = cli.run("report", small, text=False)
            self.check(warned.stdout + warned.stderr)

    def test_check_is_safe_in_text_and_json(self):
        self.run_all("check", codes=(0, 1))
        self.run_all("check", "--json", codes=(0, 1), parse=json.loads)
        self.run_all("check", "--gen-suppressions", codes=(0, 1))

    def test_check_of_several_files_is_safe(self):
        done = cli.run("check", *self.paths, self.odd, text=False)
        self.check(done.stdout + done.stderr)

    def test_files_for_other_programs_are_safe_and_well_formed(self):
        for option, parse in ("--junit", ET.fromstring), ("--sarif", json.loads):
            for path in (*self.paths, self.odd):
                out = cli.place("form")
                self.assertIn(cli.run("check", option, out, path, text=False).returncode, (0, 1))
                with open(out, "rb") as file:
                    text = file.read()
                parse(text)
                self.check(text)

    def test_annotations_are_one_command_a_line_and_the_summary_one_row_a_line(self):
        for path in (*self.paths, self.odd):
            summary = cli.place("summary.md")
            if os.path.exists(summary):
                os.unlink(summary)
            done = cli.run(
                "check", path, text=False, environment={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
            )
            self.check(done.stderr, is_log=False)
            for line in done.stderr.decode().splitlines():
                if line.lstrip().startswith("::"):
                    self.assertRegex(line, r"^::(error|warning) (file=[^,:]*,line=\d+,)?title=[^,:]*::")
            with open(summary, "rb") as file:
                text = file.read()
            self.check(text)
            for line in text.decode().splitlines():
                if line.startswith("| "):
                    self.assertEqual(line.replace("\\\\", "").replace("\\|", "").count("|"), 5, line)
            self.assertNotRegex(text.decode(), r"(?<!\\)(<script|\]\(|@everyone)")

    def test_a_baseline_of_hostile_names_is_read_back(self):
        for path in self.paths:
            baseline = cli.place("baseline")
            cli.run("check", "--baseline", baseline, "--update-baseline", path, text=False)
            if os.path.exists(baseline):
                done = cli.run("check", "--baseline", baseline, path, text=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                os.unlink(baseline)

    def test_the_next_command_is_one_command_for_a_shell(self):
        """`next: gpumemtrace report ...` quotes the file's name so that the name cannot end the quotes."""
        path = cli.place("a'; touch pwned; '.gmt.gz")
        with open(self.paths[0], "rb") as one, open(path, "wb") as other:
            other.write(one.read())
        lines = [line for line in cli.run("info", path).stdout.splitlines() if line.startswith("next: ")]
        subprocess.run(
            ["sh", "-c", lines[0][len("next: ") :].replace("gpumemtrace", "printf '%s\\n'", 1)],
            cwd=cli.FOLDER,
            check=True,
            capture_output=True,
        )
        self.assertFalse(os.path.exists(cli.place("pwned")))

    def test_messages_about_arguments_and_files_are_safe(self):
        odd = b"\x1b[2J\xc2\x9b\xe2\x80\xae\xff::error::"
        missing = odd + b"/none"
        for arguments in (
            (odd,),
            (b"report", missing),
            (b"report", b"--" + odd),
            (b"report", b"--by=" + odd, missing),
            (b"check", b"--max-peak=" + odd, missing),
            (b"check", b"--limits=" + missing, missing),
            (b"check", b"--suppressions=" + missing, missing),
            (b"help", odd),
            (b"run", b"--" + odd, b"--", b"true"),
            (b"run", b"--", missing),
            (b"doctor", b"--", missing),
            (b"diff", missing, missing),
            (b"report", b"/dev/null"),
        ):
            done = cli.run(*arguments, text=False)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.check(done.stderr + done.stdout)

    def test_messages_about_wrong_lines_of_text_files_are_safe(self):
        path = cli.place("wrong")
        for option in "--limits", "--suppressions", "--baseline", "--owners":
            for hostile in HOSTILE:
                with open(path, "wb") as file:
                    file.write(hostile)
                done = cli.run("check", option, path, self.paths[0], text=False)
                self.check(done.stderr)
                self.check(done.stdout)

    def test_every_verb_that_reads_a_recording_is_safe(self):
        for verb in verbs_that_read():
            for path in (*self.paths, self.odd):
                done = cli.run(verb, *[path] * (2 if verb == "diff" else 1), text=False)
                self.check(done.stdout)
                self.check(done.stderr)


if __name__ == "__main__":
    cli.main()
