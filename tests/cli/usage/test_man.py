# SPDX-License-Identifier: MIT
"""The man pages: each verb has one, which says the same as `help VERB` and as the program does."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import unittest

import cli
from cli import help_options, read_source, verbs

MAN = os.path.join(cli.SOURCE, "docs", "man")
RECORDER_OPTIONS = set(re.findall(r"^GMT_OPTION\((\w+),", read_source("src", "options", "recorder_options.def"), re.M))


def page_of(verb):
    return read_source("docs", "man", f"gpumemtrace-{verb}.1")


def section(page, title):
    """Returns the text of a section, or an empty text."""
    found = re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", page, re.M | re.S)
    return found[1] if found else ""


def listed_options(text):
    return set(re.findall(r"^\.It (?:Fl \w , )?Fl -([\w-]+)", text, re.M))


def example_commands(page):
    """Returns the command lines of a page's examples."""
    for block in re.findall(r"^\.Bd -literal -offset indent\n(.*?)^\.Ed$", section(page, "EXAMPLES"), re.M | re.S):
        yield from block.replace("\\-", "-").replace("\\(aq", "'").splitlines()


def exit_codes(page):
    return re.findall(r"^\.It (\d+(?: to \d+)?)$", section(page, "EXIT STATUS"), re.M)


class Man(unittest.TestCase):
    def test_each_verb_has_a_page_and_no_page_is_left_over(self):
        names = {os.path.basename(path) for path in glob.glob(os.path.join(MAN, "*"))}
        self.assertEqual(names, {"gpumemtrace.1"} | {f"gpumemtrace-{verb}.1" for verb in verbs()})

    def test_a_page_begins_with_the_sentence_and_has_the_operands_of_help(self):
        for verb in verbs():
            usage, _, meaning = cli.run("help", verb).stdout.splitlines()[:3]
            page = page_of(verb)
            self.assertIn(f".Nd {meaning.replace('`', '')}\n", page)
            synopsis = section(page, "SYNOPSIS")
            words = re.findall(r"[\w|]+", usage.partition(f"gpumemtrace {verb}")[2].replace("[options]", ""))
            last = synopsis.rpartition(".Op Fl -option")[2] if verb in ("run", "env") else synopsis
            operands = " ".join(line for line in last.splitlines() if not line.startswith(".Op Fl -"))
            for word in words:
                self.assertIn(word, operands.replace(" | ", "|"), (verb, synopsis))

    def test_a_page_has_the_options_that_help_lists(self):
        for verb in verbs():
            page, in_help = page_of(verb), set(help_options(verb)) - {"help"}
            if verb == "run":
                in_page = listed_options(section(page, "RECORDER OPTIONS")) - {"help"}
                self.assertEqual(in_page, RECORDER_OPTIONS - {"help"})
            if verb in ("run", "env"):
                in_help -= RECORDER_OPTIONS
            self.assertEqual(listed_options(section(page, "OPTIONS")) - {"help"}, in_help, verb)
            in_synopsis = set(re.findall(r"^\.Op Fl -([\w-]+)", section(page, "SYNOPSIS"), re.M))
            self.assertEqual(in_synopsis - {"option"}, in_help, verb)

    def test_the_examples_use_options_of_their_verbs(self):
        for verb in verbs():
            commands = list(example_commands(page_of(verb)))
            self.assertTrue(commands, verb)
            self.assertTrue(any(f"gpumemtrace {verb}" in command for command in commands), verb)
            for command in commands:
                inner = re.search(r"gpumemtrace [^)]*", command)[0]
                words = shlex.split(inner.rstrip('"'))
                words = words[: words.index("--")] if "--" in words else words
                allowed = help_options(words[1])
                for word in words:
                    if word.startswith("--"):
                        self.assertIn(re.match(r"--([\w-]+)", word)[1], allowed, command)

    def test_the_exit_codes_of_wrong_command_lines_and_missing_files_are_in_the_page(self):
        for verb in verbs():
            codes = exit_codes(page_of(verb))
            self.assertEqual(codes, sorted(codes, key=lambda code: int(code.split()[0])), verb)
            wrong = cli.run(verb, "--no-such-option")
            self.assertIn(str(wrong.returncode), codes, verb)
            if verb in ("report", "diff", "leaks", "check", "info", "recover", "dump"):
                missing = cli.run(verb, *(["/no/such/file"] * (2 if verb == "diff" else 1)))
                self.assertIn(str(missing.returncode), codes[1:], verb)
        self.assertEqual(cli.run("run", "--", "/no/such/program").returncode, 127)
        self.assertEqual(cli.run("run", "--", "/etc/passwd").returncode, 126)
        self.assertLessEqual({"126", "127"}, set(exit_codes(page_of("run"))))
        self.assertIn(str(cli.run("snapshot", "99999999").returncode), exit_codes(page_of("snapshot")))

    def test_the_examples_that_need_no_recording_and_no_process_work(self):
        for command in ("gpumemtrace env --docker", "gpumemtrace help report", "gpumemtrace version"):
            self.assertIn(command, list(example_commands(page_of(command.split()[1]))))
            self.assertEqual(cli.run(*command.split()[1:]).returncode, 0)

    def test_each_page_refers_to_pages_that_exist(self):
        for path in glob.glob(os.path.join(MAN, "*.1")):
            with open(path, encoding="utf-8") as file:
                page = file.read()
            for name in re.findall(r"^\.Xr (gpumemtrace[\w-]*) 1", page, re.M):
                self.assertTrue(os.path.exists(os.path.join(MAN, f"{name}.1")), (path, name))
            titles = re.findall(r"^\.Sh (.*)$", page, re.M)
            for title in re.findall(r"^\.Sx ([A-Z ]+?)(?: [.,;])?$", page, re.M):
                self.assertIn(title, titles, path)
        see_also = section(read_source("docs", "man", "gpumemtrace.1"), "SEE ALSO")
        self.assertEqual(re.findall(r"^\.Xr gpumemtrace-(\w+) 1", see_also, re.M), sorted(verbs()))

    def check_pages(self, *command):
        if not shutil.which(command[0]):
            self.skipTest(f"no {command[0]} on this machine")
        for path in sorted(glob.glob(os.path.join(MAN, "*.1"))):
            done = subprocess.run([*command, path], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path + done.stdout[:500])

    def test_groff_has_no_warning_about_the_pages(self):
        self.check_pages("groff", "-mandoc", "-Tutf8", "-ww")

    def test_mandoc_has_no_warning_about_the_pages(self):
        self.check_pages("mandoc", "-Tlint", "-Wwarning")


if __name__ == "__main__":
    cli.main()
