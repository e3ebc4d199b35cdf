# SPDX-License-Identifier: MIT
"""The command line: help, mistakes, colours, streams; the man page agrees with it."""

import os
import re
import select
import subprocess
import unittest

import cli
from cli import help_options, read_source, verbs


def recorder_options():
    return re.findall(r"^GMT_OPTION\((\w+),", read_source("src", "options", "recorder_options.def"), re.M)


def man_section(title, kind):
    page = read_source("docs", "man", "gpumemtrace.1")
    match = re.search(rf"^\.{kind} {title}\n(.*?)(?=^\.S[hs] |\Z)", page, re.M | re.S)
    return match.group(1) if match else None


class Usage(unittest.TestCase):
    def check_wrong(self, arguments, *said, code=2):
        done = cli.run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
        self.assertTrue(done.stderr.startswith("gpumemtrace: error: "), done.stderr)
        for words in said:
            self.assertIn(words, done.stderr)

    def test_without_a_verb_the_verbs_are_listed_and_it_is_a_mistake(self):
        done = cli.run()
        self.assertEqual(done.returncode, 2)
        for verb in verbs():
            self.assertRegex(done.stdout, rf"(?m)^  {verb} ")

    def test_help_in_every_spelling_is_the_same(self):
        self.assertEqual(cli.run("help").returncode, 0)
        for spelling in ["--help"], ["-h"]:
            self.assertEqual(cli.run(*spelling).stdout, cli.run("help").stdout)
        for verb in verbs():
            done = cli.run("help", verb)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"usage: gpumemtrace {verb}"))
            for spelling in "--help", "-h":
                self.assertEqual(cli.run(verb, spelling).stdout, done.stdout)

    def test_help_fits_a_terminal_of_100_columns(self):
        for verb in verbs():
            for line in cli.run("help", verb).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_every_spelling_prints_the_version(self):
        done = cli.run("version")
        self.assertRegex(done.stdout, r"^gpumemtrace \d+\.\d+\.\d+, recording format 1\.\d+\n$")
        for spelling in "--version", "-V":
            self.assertEqual(cli.run(spelling).stdout, done.stdout)

    def test_an_unknown_verb_is_reported_with_the_nearest_one(self):
        self.check_wrong(["reprot"], "unknown verb `reprot`; did you mean `report`?")
        self.check_wrong(["ver"], "did you mean `version`?")
        self.check_wrong(["help", "inof"], "did you mean `info`?")
        done = cli.run("xyzzy")
        self.assertNotIn("did you mean", done.stderr)

    def test_an_unknown_option_is_reported_with_the_nearest_one(self):
        self.check_wrong(["report", "--jsn", "x"], "report: unknown option `--jsn`; did you mean `--json`?")
        self.check_wrong(["report", "--symbols-path=x", "x"], "did you mean `--symbol-path`?")
        self.check_wrong(["report", "-z", "x"], "unknown option `-z`")
        self.check_wrong(["run", "--stack=all", "true"], "did you mean `--stacks`?", code=125)

    def test_values_are_checked(self):
        self.check_wrong(
            ["report", "--until=soon", "x"], "--until: `soon` is not valid: it takes 4s|step:N|peak|end|oom"
        )
        self.check_wrong(["report", "--limit=-1", "x"], "--limit: `-1` is not valid")
        self.check_wrong(["report", "--color=blue", "x"], "it takes auto|always|never")
        for time in (
            "5x",
            " 5",
            "5 ",
            "+5",
            "",
            "1.5",
            "s",
            "1.s",
            ".5s",
            "1,5s",
            "step:",
            "step:x",
            "18446744073709551616",
        ):
            self.check_wrong(["report", f"--until={time}", "x"], f"--until: `{time}` is not valid")
            self.check_wrong(["dump", f"--from={time}", "x"], f"--from: `{time}` is not valid")
        for number in "5x", " 5", "5 ", "+5", "", "0x5", "5.0", "18446744073709551616":
            for verb, option in (
                ("report", "frames"),
                ("leaks", "age-seconds"),
                ("dump", "device"),
                ("fold", "keep-events"),
            ):
                self.check_wrong([verb, f"--{option}={number}", "x"], f"--{option}: `{number}` is not valid")
        self.check_wrong(["diff", "--threshold=5GiBx", "x", "y"], "5GiBx")
        self.check_wrong(["report", "--json=yes", "x"], "--json takes no value")
        self.check_wrong(["report", "x", "--until"], "--until needs a value")
        self.check_wrong(["env", "--depth=100000"], "--depth: `100000` is not valid: it takes 1..")
        self.check_wrong(["env", "--depth=12x"], "--depth: `12x` is not valid: it takes 1..512; did you mean 12?")
        self.check_wrong(["env", "--free_stacks=maybe"], "it takes on|off")
        self.check_wrong(["report", "--color=allways", "x"], "; did you mean always?")
        self.check_wrong(["dump", "--record=evnt", "x"], "unknown record `evnt`; did you mean `event`?")

    def test_operands_that_are_missing_or_too_many_are_a_mistake(self):
        for arguments in ["diff"], ["diff", "a"], ["dump", "a", "b"], ["version", "x"], ["help", "a", "b"]:
            self.check_wrong(arguments)

    def test_a_folder_without_recordings_needs_an_operand(self):
        folder = cli.place("empty-folder")
        os.makedirs(folder)
        for verb in "report", "leaks", "check", "info", "dump":
            done = cli.run(verb, cwd=folder)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{verb}: no recording is given, and this folder has none", done.stderr)

    def test_options_may_follow_operands_and_end_at_two_dashes(self):
        path = cli.make("order.gmt.gz")
        self.assertEqual(cli.run("report", path, "--json").stdout, cli.run("report", "--json", path).stdout)
        self.assertIn("--json: No such file", cli.run("report", "--", "--json").stderr)
        self.assertEqual(cli.run("report", "--limit", "1", path).stdout, cli.run("report", "--limit=1", path).stdout)

    def test_output_is_written_to_the_requested_file(self):
        path, out = cli.make("where.gmt.gz"), cli.place("out.txt")
        for arguments in ["-o", out], [f"-o{out}"], [f"--output={out}"]:
            done = cli.run("report", "--json", path, *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(out, encoding="utf-8") as file:
                self.assertEqual(file.read(), cli.run("report", "--json", path).stdout)
        done = cli.run("report", path, "-o", "/no/such/folder/x")
        self.assertEqual(done.returncode, 3)
        self.assertIn("/no/such/folder/x: No such file", done.stderr)

    def test_a_full_disk_is_an_error_that_names_the_output(self):
        path = cli.make("full.gmt.gz", events=20000)
        for arguments in ["report", path], ["report", "--json", path], ["dump", path], ["info", path], ["help"]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(
                    [cli.CLI, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=cli.PLAIN
                )
            self.assertEqual(done.returncode, 3, arguments)
            self.assertEqual(done.stderr, "gpumemtrace: error: standard output: No space left on device\n")
        done = cli.run("report", "--json", "-o", "/dev/full", path)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, "gpumemtrace: error: /dev/full: No space left on device\n")

    def test_a_closed_pipe_is_no_error(self):
        path = cli.make("pipe.gmt.gz", events=50000)
        for arguments in ["report", "--json", path], ["dump", path]:
            with subprocess.Popen([cli.CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.read(10)
                process.stdout.close()
                self.assertEqual((process.stderr.read(), process.wait(120)), (b"", 0))

    def test_colours_depend_on_option_environment_and_terminal(self):
        path = cli.make("color.gmt.gz")

        def colored(*arguments, **environment):
            return "\x1b[" in cli.run("report", path, *arguments, environment=environment).stdout

        self.assertFalse(colored())
        self.assertTrue(colored("--color=always"))
        self.assertTrue(colored(CLICOLOR_FORCE="1"))
        self.assertFalse(colored(CLICOLOR_FORCE="0"))
        self.assertFalse(colored(CLICOLOR_FORCE="1", NO_COLOR="1"))
        self.assertFalse(colored("--color=never", CLICOLOR_FORCE="1"))
        self.assertTrue(colored("--color=always", NO_COLOR="1"))

    def test_work_that_takes_longer_than_half_a_second_shows_progress_on_a_terminal_only(self):
        path, pipe = cli.make("slow.gmt.gz", events=20000), cli.place("slow")
        with open(path, "rb") as file:
            data = file.read()
        os.mkfifo(pipe)
        for on_terminal in True, False:
            main, secondary = os.openpty()
            with subprocess.Popen(
                [cli.CLI, "report", pipe],
                stdout=subprocess.DEVNULL,
                env=cli.PLAIN,
                stderr=secondary if on_terminal else subprocess.PIPE,
            ) as process:
                with open(pipe, "wb") as file:
                    # A terminal gets the file until the progress shows, which takes half a second of the reader's time.
                    parts = 800 if on_terminal else 100
                    for part in range(parts):
                        file.write(data[len(data) * part // parts : len(data) * (part + 1) // parts])
                        file.flush()
                        shown, _, _ = select.select([main], [], [], 0.01 if not on_terminal or part < parts - 1 else 0)
                        if shown:
                            file.write(data[len(data) * (part + 1) // parts :])
                            break
                if on_terminal:
                    self.assertTrue(shown)
                    self.assertIn(b"\rreading", os.read(main, 10000))
                else:
                    self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.returncode, 0)
            os.close(secondary)
            os.close(main)

    def test_on_a_terminal_there_are_colours_unless_it_is_dumb(self):
        path = cli.make("tty.gmt.gz")
        for term, expected in ("xterm", True), ("dumb", False):
            main, secondary = os.openpty()
            # The pseudo-terminal holds a few KiB. A short report fits.
            done = subprocess.run(
                [cli.CLI, "info", path], stdout=secondary, env={**cli.PLAIN, "TERM": term}, timeout=60
            )
            os.close(secondary)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(b"\x1b[" in os.read(main, 100000), expected)
            os.close(main)

    def test_the_pages_list_the_options_of_the_program(self):
        done = subprocess.run(
            [os.path.join(cli.SOURCE, "scripts", "make-docs"), "--check", cli.BUILD],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_man_page_has_every_verb_and_no_other(self):
        page = read_source("docs", "man", "gpumemtrace.1")
        self.assertEqual(re.findall(r"^\.Ss (\w+)$", page, re.M), verbs())
        self.assertEqual(re.findall(r"^\.Nm\n\.Cm (\w+)", page, re.M), verbs())

    def test_the_man_page_has_the_options_that_help_lists(self):
        recorder = {name for name in recorder_options() if name != "help"}
        for verb in verbs():
            in_help = set(help_options(verb))
            section = set(re.findall(r"^\.It (?:Fl \w , )?Fl -([\w-]+)", man_section(verb, "Ss"), re.M)) - {"help"}
            if verb in ("run", "env"):
                self.assertLessEqual(recorder, in_help)
                in_help -= recorder
            self.assertEqual(section, in_help, verb)
        self.assertEqual(re.findall(r"^\.It Cm (\w+)", man_section("RECORDER OPTIONS", "Sh"), re.M), recorder_options())

    def test_the_documented_json_keys_are_all_that_a_report_has(self):
        text = read_source("docs", "report-json.md")
        text += "".join(read_source("docs", "internals", f"report-json-{part}.md") for part in ("fields", "analyses"))

        def walk(value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    yield key
                    yield from walk(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from walk(inner)

        report = cli.report(cli.make("keys.gmt.gz", drop=1))
        for key in set(walk(report)):
            self.assertIn(f"`{key}`", text)


if __name__ == "__main__":
    cli.main()
