# SPDX-License-Identifier: MIT
"""Recordings whose every text is hostile: nothing that a terminal, a log or a shell obeys comes out of any verb."""
import glob
import json
import os
import struct
import subprocess
import unicodedata
import unittest
import xml.etree.ElementTree as ET
import zlib
from itertools import groupby

import cli
import read_snapshot
import write_snapshot as w
from test_usage import verbs_that_read

SEEDS = os.path.join(cli.TESTS, "fuzz", "corpus", "snapshot")

# What commands terminals (C0, DEL, C1 alone and in UTF-8), turns or hides text, is no UTF-8 or an overlong form,
# ends a line, a string, an attribute, a comment, a cell or a quoted argument, or is a command in a job's log.
HOSTILE = (b"\x1b[2J\x1b]0;t\x07", b"\x9b31m", "\x9b31m".encode(), b"\x7f\x08\x00x", "\u202egnp.exe\u2066".encode(),
           "\u200b\u2028\ufeff\U000e0041".encode(), b"\xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80\xff\xfe",
           b"\n::error file=x::y\n##[error]z", b"\r\n::set-output name=x::y", b"%0A::error::x", b"]]>--><x a='\"&amp;",
           b"'; touch pwned; $(touch pwned) `touch pwned` \\", b"| [a](javascript:b) | <script>c</script> @everyone",
           b"::error::start", b" ##[command]x")
HIDDEN = set("\u202e\u2066\u200b\u2028\ufeff\U000e0041\ufffe\uffff")
FILE_NAME = b"-x\x1b[2J'; touch pwned #\n::error::\xff\xc2\x9b.gmt.gz"


def read_content(content, path):
    """Rows of what stands inside gzip, with its checksums put right."""
    out, at = bytearray(w.header()), 20
    while len(content) - at >= 16:
        kind, rows, size = struct.unpack("<III", content[at:at + 12])
        payload = content[at + 16:at + 16 + size]
        out += w.frame(kind, rows, payload)
        at += 16 + size
    w.write(path, bytes(out[20:]))
    return read_snapshot.read(path)


class Maker:
    def __init__(self):
        self.count = 0

    def text(self, value, is_whole):
        """Whole texts and beginnings are what a line may begin with; behind a name it is still that name."""
        self.count += 1
        hostile = HOSTILE[self.count % len(HOSTILE)]
        value = value.encode() if isinstance(value, str) else bytes(value)
        return hostile if is_whole else value + hostile if self.count % 3 else hostile + value

    def rows(self, name, rows):
        fields = dict((field, encoding) for field, encoding, _bits in read_snapshot.RECORDS[w.NUMBERS[name]][1])
        whole = name in ("note", "drop", "thread", "device")
        for row in rows:
            yield {field: self.text(value, whole) if fields.get(field) == "S" else value
                   for field, value in row.items() if field != "record"}


def make_all():
    """The richest of the kept seeds, by what kinds of records they have, with hostile texts."""
    paths, kinds = [], {}
    for number, seed in enumerate(sorted(glob.glob(os.path.join(SEEDS, "*")), key=os.path.getsize)):
        path = cli.place(f"hostile-{number}.gmt.gz")
        with open(seed, "rb") as file:
            content = file.read()
        try:
            rows = list(read_content(content, path))
        except (read_snapshot.Damage, ValueError, KeyError, zlib.error):
            continue
        kinds[path] = ({row["record"] for row in rows}, rows)
    chosen, seen = sorted(kinds, key=lambda path: (-len(kinds[path][0]), len(kinds[path][1]))), set()
    for path in chosen:
        if len(paths) >= 6 and kinds[path][0] <= seen:
            continue
        seen |= kinds[path][0]
        maker = Maker()
        w.write(path, *(w.block(name, *maker.rows(name, group))
                        for name, group in groupby(kinds[path][1], key=lambda row: row["record"])))
        paths.append(path)
    extra = Maker()
    w.write(paths[0] + ".more.gmt.gz", w.process(**{field: extra.text("x", True) for field in
                                                    ("host", "executable", "command", "directory", "shim_version",
                                                     "machine")}),
            w.block("option", {"key": HOSTILE[0], "value": HOSTILE[13]}),
            w.block("unhooked", {"name": HOSTILE[13], "road": HOSTILE[0]}), w.end(0))
    return paths + [paths[0] + ".more.gmt.gz"]


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.paths = make_all()
        assert len(cls.paths) > 6, cls.paths
        cls.odd = os.path.join(cli.FOLDER.encode(), FILE_NAME)
        with open(cls.paths[0], "rb") as one, open(cls.odd, "wb") as other:
            other.write(one.read())

    def check(self, output, is_log=True):
        """No byte that commands; `is_log` tells whether lines of it could become commands of a job."""
        text = output.decode("utf-8")  # raises where it is none
        for character in set(text) - {"\n"}:
            self.assertFalse(unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in HIDDEN,
                             f"{character!r} in {text[:4000]!r}")
        self.assertNotIn("##[", text)
        for line in text.splitlines() if is_log else ():
            self.assertFalse(line.lstrip().startswith("::"), line)

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

    def test_recover_is_safe_where_there_is_nothing_to_recover(self):
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
            told = cli.run("report", small, text=False)
            self.check(told.stdout + told.stderr)

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
            done = cli.run("check", path, text=False, environment={"GITHUB_ACTIONS": "true",
                                                                   "GITHUB_STEP_SUMMARY": summary})
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

    def test_what_a_shell_is_given_to_type_is_one_command(self):
        """`next: gpumemtrace report ...` names the file in quotes that it cannot end."""
        path = cli.place("a'; touch pwned; '.gmt.gz")
        with open(self.paths[0], "rb") as one, open(path, "wb") as other:
            other.write(one.read())
        lines = [line for line in cli.run("info", path).stdout.splitlines() if line.startswith("next: ")]
        subprocess.run(["sh", "-c", lines[0][len("next: "):].replace("gpumemtrace", "printf '%s\\n'", 1)],
                       cwd=cli.FOLDER, check=True, capture_output=True)
        self.assertFalse(os.path.exists(cli.place("pwned")))

    def test_messages_about_arguments_and_files_are_safe(self):
        odd = b"\x1b[2J\xc2\x9b\xe2\x80\xae\xff::error::"
        missing = odd + b"/none"
        for arguments in ((odd,), (b"report", missing), (b"report", b"--" + odd), (b"report", b"--by=" + odd, missing),
                          (b"check", b"--max-peak=" + odd, missing), (b"check", b"--limits=" + missing, missing),
                          (b"check", b"--suppressions=" + missing, missing), (b"help", odd),
                          (b"run", b"--" + odd, b"--", b"true"), (b"run", b"--", missing),
                          (b"doctor", b"--", missing), (b"diff", missing, missing), (b"report", b"/dev/null")):
            done = cli.run(*arguments, text=False)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.check(done.stderr + done.stdout)

    def test_wrong_lines_of_text_files_are_safe_in_what_is_said_of_them(self):
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
