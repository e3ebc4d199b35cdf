# SPDX-License-Identifier: MIT
"""Completion scripts: real shells complete a line as a user would type it."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
import unittest

import cli

FILES = "train.gmt.gz", "notes.txt", "my run.gmt.gz"
FOLDER = cli.place("completion")
ENVIRONMENT = {**cli.PLAIN, "PATH": f"{os.path.dirname(cli.CLI)}:{cli.PLAIN['PATH']}", "TERM": "dumb"}
SHELL_WAIT_S = 120

# What is typed, and the word that must be among the offered ones.
CASES = [
    ("gpumemtrace recov", "recover"),
    ("gpumemtrace report --symbol-p", "--symbol-path="),
    ("gpumemtrace report --by=oper", "--by=operator"),
    ("gpumemtrace report --section=leaks,temp", "--section=leaks,temporaries"),
    ("gpumemtrace leaks --until pe", "peak"),
    ("gpumemtrace report trai", "train.gmt.gz"),
    ("gpumemtrace check --baseline no", "notes.txt"),
    ("gpumemtrace import no", "notes.txt"),
    ("gpumemtrace run --stacks=py", "--stacks=python"),
    ("gpumemtrace run -o x.gz -- cat note", "notes.txt"),
    ("gpumemtrace run --depth 5 gpumemtrac", "gpumemtrace"),
    ("gpumemtrace run --depth 5 cat note", "notes.txt"),
    ("gpumemtrace run --free_stacks on -q cat note", "notes.txt"),
    ("gpumemtrace run --dep", "--depth="),
    ("gpumemtrace run --stacks py", "python"),
    ("gpumemtrace report --html=no", "--html=notes.txt"),
    ("gpumemtrace help lea", "leaks"),
    ("gpumemtrace completion fi", "fish"),
    ("gpumemtrace --max-work=3 rep", "report"),
    ("gpumemtrace --max-work=3 run --depth 5 cat note", "notes.txt"),
]


def words_of_bash(line):
    """Splits a line as readline does, at '=' too."""
    return re.sub(r"=", " = ", line).split(" ")


def script(shell):
    done = cli.run("completion", shell)
    assert (done.returncode, done.stderr) == (0, ""), done
    path = cli.place(f"completion.{shell}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(done.stdout)
    return path


def needs(shell):
    return unittest.skipUnless(shutil.which(shell), f"there is no {shell}")


def by_bash(line, setup=""):
    """Returns what bash offers. `setup` are commands of the user's own configuration."""
    words = words_of_bash(line)
    code = f"""
source {shlex.quote(script("bash"))}
{setup}
COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
COMP_WORDS=({" ".join(map(shlex.quote, words))})
COMP_CWORD={len(words) - 1}
_gpumemtrace
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )
    assert not done.stderr, done.stderr
    front = line.rpartition(" ")[2].rpartition("=")[0] if "=" in words else ""
    return [f"{front}={word}" if front else word for word in done.stdout.split("\n") if word]


def by_fish(line, setup=""):
    """Returns what fish offers. `setup` are commands of the user's own configuration."""
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script('fish')}; {setup} complete -C {shlex.quote(line)}"],
        cwd=FOLDER,
        env={**ENVIRONMENT, "XDG_CONFIG_HOME": FOLDER, "XDG_DATA_HOME": FOLDER, "HOME": FOLDER},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not done.stderr, done.stderr
    return [word.split("\t")[0] for word in done.stdout.split("\n") if word]


# In the typed line, the words have quotes inside: only their output is whole.
SHOW = {
    "zsh": "autoload -Uz compinit; compinit -u -D; "
    "show() { zle -I; print -r -- BEG''IN${BUFFER}E''ND; BUFFER=; }; zle -N show; bindkey '^X' show; unsetopt beep",
    "bash": "show() { echo BEG''IN\"${READLINE_LINE}\"E''ND; READLINE_LINE=; }; bind -x '\"\\C-x\": show'",
}
FLAGS = {"zsh": ["-f", "-i"], "bash": ["--norc", "--noprofile", "-i"]}


class Interactive:
    """An interactive shell on a terminal. It completes a line and shows the result."""

    def __init__(self, shell):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(FOLDER)
            os.execvpe(shell, [shell, *FLAGS[shell]], {**ENVIRONMENT, "ZDOTDIR": FOLDER})
        self.type(f"PS1=; {SHOW[shell]}; source {script(shell)}; echo REA''DY\n")
        self.wait_for("READY")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text):
        out, end = "", time.monotonic() + SHELL_WAIT_S
        while text not in out:
            assert time.monotonic() < end, f"no {text} in {out!r}"
            if select.select([self.fd], [], [], 1)[0]:
                out += os.read(self.fd, 1 << 16).decode(errors="replace")
        return out

    def complete(self, line):
        self.type(line + "\t\x18")
        out = self.wait_for("END")
        return out.rpartition("BEGIN")[2].partition("END")[0].strip()

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(os.path.join(FOLDER, "a folder"), exist_ok=True)
        for name in FILES:
            with open(os.path.join(FOLDER, name), "w", encoding="utf-8"):
                pass

    def check_offers(self, complete):
        for line, word in CASES:
            with self.subTest(line):
                # Only bash offers the '=' in front of a value.
                self.assertIn(word.rstrip("="), [offered.rstrip("=") for offered in complete(line)])

    @needs("bash")
    def test_bash_completes_verbs_options_values_and_files(self):
        self.check_offers(by_bash)

    @needs("bash")
    def test_bash_offers_recordings_and_no_other_files(self):
        self.assertEqual(sorted(by_bash("gpumemtrace report ")), ["a folder", "my run.gmt.gz", "train.gmt.gz"])

    @needs("bash")
    def test_bash_offers_names_with_spaces_whole(self):
        for line in ("report my", "check --baseline my", "run cat my", "report --html=my"):
            with self.subTest(line):
                self.assertEqual(
                    [word.rpartition("=")[2] for word in by_bash(f"gpumemtrace {line}")], ["my run.gmt.gz"]
                )

    @needs("bash")
    def test_bash_quotes_names_with_spaces(self):
        bash = Interactive("bash")
        try:
            for typed, whole in (
                ("report my", r"report my\ run.gmt.gz"),
                (r"report my\ r", r"report my\ run.gmt.gz"),
                ('run cat "my', 'run cat "my run.gmt.gz"'),
                ("leaks a", r"leaks a\ folder/"),
            ):
                with self.subTest(typed):
                    self.assertEqual(bash.complete(f"gpumemtrace {typed}"), f"gpumemtrace {whole}")
        finally:
            bash.end()

    @needs("bash")
    def test_bash_completes_a_program_by_its_own_function(self):
        setup = """
_tool() { COMPREPLY=("$1/$2/$3/$COMP_CWORD/${COMP_WORDS[*]}/$COMP_LINE/$COMP_POINT"); }
complete -F _tool tool
"""
        for options in ("", "--depth 5 ", "-q --stacks=python -- "):
            offered = by_bash(f"gpumemtrace run {options}tool --size  x", setup)
            self.assertEqual(
                [word.rpartition("python=")[2] for word in offered], ["tool/x//3/tool --size  x/tool --size  x/14"]
            )

    @needs("fish")
    def test_fish_completes_a_program_by_its_own_rules(self):
        setup = "complete -c tool -l size -x -a '1 2'; complete -c tool -l speed;"
        for options in ("", "--depth 5 ", "-q --stacks=python -- "):
            self.assertEqual(by_fish(f"gpumemtrace run {options}tool --size ", setup), ["1", "2"])
            self.assertEqual(by_fish(f"gpumemtrace run {options}tool --s", setup), ["--size", "--speed"])

    def test_no_options_of_run_are_offered_after_the_program(self):
        for shell, complete in (("bash", by_bash), ("fish", by_fish)):
            if not shutil.which(shell):
                continue
            for options in ("", "--depth 5 ", "--depth=5 ", "-q -- ", "-o x.gz "):
                with self.subTest((shell, options)):
                    offered = complete(f"gpumemtrace run {options}no-such-program --")
                    self.assertEqual([word for word in offered if word.startswith("--")], [])
                    self.assertEqual(complete(f"gpumemtrace run {options}no-such-program --dep"), [])

    @needs("fish")
    def test_fish_completes_verbs_options_values_and_files(self):
        self.check_offers(by_fish)

    @needs("zsh")
    def test_zsh_completes_verbs_options_values_and_files(self):
        zsh = Interactive("zsh")
        try:
            for line, word in CASES:
                with self.subTest(line):
                    # zsh inserts the only match.
                    front = line[: line.rindex(" ") + 1]
                    self.assertEqual(zsh.complete(line).rstrip(" ,"), front + word)
        finally:
            zsh.end()

    @needs("bash")
    def test_each_verb_and_each_option_of_help_is_offered(self):
        verbs = re.findall(r"^  (?!gpumemtrace)([a-z]+) +\S", cli.run("help").stdout, re.MULTILINE)
        self.assertEqual(set(by_bash("gpumemtrace ")) - {"--help", "--version"}, set(verbs))
        for verb in verbs:
            options = re.findall(r"^  .{4}(--[a-z_-]+)", cli.run("help", verb).stdout, re.MULTILINE)
            self.assertEqual(
                {word.rstrip("=") for word in by_bash(f"gpumemtrace {verb} -")} - {"--help"},
                {option.replace("_", "-") for option in options},
            )

    def test_an_unknown_shell_is_an_error_of_one_line_with_the_known_ones(self):
        done = cli.run("completion", "tcsh")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^gpumemtrace: error: completion: [^\n]*`tcsh`[^\n]*bash, zsh and fish\n$")
        self.assertEqual(cli.run("completion").returncode, 2)


if __name__ == "__main__":
    cli.main()
