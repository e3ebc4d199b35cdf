# SPDX-License-Identifier: MIT
"""No verb prints terminal commands, with any option and from any source of text."""

import fcntl
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time

import cli
import write_recording as w
from cli import help_options, verbs, verbs_that_read
from control_page import ANSWERED, ASKED, ControlPage
from hostile_texts import SafeOutput, make_all

# One text with all kinds of bytes that a terminal must not get. A newline is one of them: it would begin a line.
ODD = b"\x1b[2J\x1b]0;t\x07\x9b31m\xc2\x9b\r\x08\xe2\x80\xae\xe2\x80\xa8\xff\n::error::x ##[error]y"
STYLES = re.compile(rb"\x1b\[([0-2]|33|30;48;5;(229|222|215|208|202|196))m")


def option_words(verb):
    """Yields each option of the verb that takes words, with each of its words."""
    for name, words in re.findall(r"--([\w-]+)=([\w-]+(?:\|[\w-]+)+)", cli.run(verb, "-h").stdout):
        for word in words.split("|"):
            yield f"--{name}={word}"


def flags(verb):
    text = cli.run(verb, "-h").stdout
    return [
        f"--{name}"
        for name in help_options(verb)
        if re.search(rf"--{name}(\s|$)", text, re.M) and name not in ("help", "update-baseline", "all")
    ]


# These write bytes from a safe stream of another process, a signal handler's constant line, or a page for a browser,
# whose text tests/cli/page checks.
CONSTANT_LINES = ("report_each_parallel.c", "running_processes.c", "document_stream.c")


class Escapes(SafeOutput):
    @classmethod
    def setUpClass(cls):
        cls.paths = make_all()
        cls.odd = os.path.join(cli.FOLDER.encode(), ODD.replace(b"/", b"") + b".gmt.gz")
        shutil.copy(cls.paths[0], cls.odd)

    def run_safely(self, *arguments, has_styles=False, is_log=True, **more):
        done = cli.run(*arguments, text=False, **more)
        self.assertGreaterEqual(done.returncode, 0, (arguments, done.stderr))
        for output in done.stdout, done.stderr:
            self.check(STYLES.sub(b"", output) if has_styles else output, is_log)
        return done

    def test_each_flag_and_word_of_each_verb_that_reads_recordings(self):
        # fold and recover write files, so they have tests of their own.
        for verb in set(verbs_that_read()) - {"fold", "recover"}:
            operands = [self.paths[1], self.odd] if verb == "diff" else [self.odd]
            for option in [*flags(verb), *option_words(verb)]:
                for path in self.paths if verb in ("report", "leaks") else self.paths[:1]:
                    with self.subTest(verb=verb, option=option, path=path):
                        done = self.run_safely(
                            verb, option, *operands[:-1], path, has_styles=option == "--color=always"
                        )
                        if option == "--json" and done.returncode in (0, 1) and verb not in ("dump", "sql"):
                            json.loads(done.stdout)
                self.run_safely(verb, option, *operands, has_styles=option == "--color=always")

    def test_rows_of_sql(self):
        tables = [row["table"] for row in json.loads(cli.run("sql", "--json", self.paths[0], ".tables").stdout)]
        self.assertGreater(len(tables), 10)
        for path in self.paths:
            for form in (), ("--json",), ("--csv",):
                for table in tables:
                    with self.subTest(path=path, form=form, table=table):
                        done = self.run_safely("sql", *form, path, f'select * from "{table}"', is_log=not form)
                        if form == ("--json",) and not done.returncode:
                            json.loads(done.stdout)

    def test_colours_are_the_only_sequences_that_pass(self):
        for verb in "report", "leaks", "check", "info":
            for path in (*self.paths, self.odd):
                done = self.run_safely(verb, "--color=always", path, has_styles=True)
                self.assertIn(b"\x1b[", done.stdout)
        for path in self.paths[1:], [self.odd]:
            self.run_safely("report", "--color=always", *path, has_styles=True)

    def test_values_of_options_that_are_wrong(self):
        for verb in verbs():
            for name in help_options(verb):
                if name in ("help", "output") or (verb == "run" and name == "check"):
                    continue
                with self.subTest(verb=verb, name=name):
                    self.run_safely(verb, b"--" + name.encode() + b"=" + ODD, self.odd)
            self.run_safely(verb, b"--" + ODD)
            self.run_safely(verb, b"-" + ODD)
        for value in ODD, b"--" + ODD, b"--max-peak=" + ODD, b"--limits=" + ODD:
            self.run_safely("run", b"--check=" + value, "--", "true")
        self.run_safely(b"--max-memory=" + ODD, "report", self.odd)

    def test_outputs_that_cannot_be_written(self):
        for arguments in (["report", self.odd], ["fold", self.odd], ["check", self.odd], ["leaks", self.odd]):
            self.run_safely(*arguments, "-o", b"/no/such/" + ODD.replace(b"/", b""))
            self.run_safely(*arguments, "-o", self.odd)

    def test_numbered_names(self):
        newer = self.odd[: -len(b".gmt.gz")] + b".1.gmt.gz"
        shutil.copy(self.paths[1], newer)
        self.addCleanup(os.unlink, newer)
        self.assertIn(b"newer recording", self.run_safely("info", self.odd).stderr)

    def test_run_and_doctor_print_no_terminal_command(self):
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, folder)
        program = os.path.join(folder.encode(), ODD.replace(b"/", b""))
        for content in b"#!/bin/sh\n", b"#!/no/such/" + ODD, b"\x7fELF" + ODD * 20, ODD:
            with open(program, "wb") as file:
                file.write(content)
            os.chmod(program, 0o755)
            self.run_safely("doctor", "--", program, ODD)
            self.run_safely("doctor", "--json", "--", program, ODD)
            if content.startswith(b"#!/bin"):
                self.run_safely("doctor", "--run", "--", program, ODD)
            # A shell runs the other programs and prints their names itself.
            if content.startswith(b"#!"):
                self.run_safely("run", "-o", program + b".gmt.gz", "--", program, ODD)
        for name in (
            "LD_PRELOAD",
            "GPUMEMTRACE_OPTIONS",
            "CUDA_VISIBLE_DEVICES",
            "PYTORCH_CUDA_ALLOC_CONF",
            "PYTHONPATH",
            "TMPDIR",
            "XDG_RUNTIME_DIR",
            "PATH",
            "LD_LIBRARY_PATH",
        ):
            value = b"/" + ODD + b":" + os.environ.get(name, "").encode()
            done = subprocess.run(
                [cli.CLI, "doctor"], capture_output=True, env={**cli.PLAIN, name: value}, timeout=120, check=False
            )
            # The loader itself reports a library that it cannot preload.
            lines = [line for line in done.stderr.split(b"\n") if b"ld.so" not in line and name != "LD_PRELOAD"]
            self.check(done.stdout + b"\n".join(lines))

    def test_env_is_read_back_by_a_shell_and_shows_no_command(self):
        folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, folder)
        # Only the recorder's name matters.
        shutil.copy(cli.CLI, os.path.join(folder, "gpumemtrace"))
        shutil.copy(
            os.path.join(cli.BUILD, "tests", "cli", "libfake_recorder.so"), os.path.join(folder, "libgpumemtrace.so")
        )
        done = subprocess.run(
            [os.path.join(folder, "gpumemtrace"), "env", b"--output=/" + ODD.replace(b"\n", b"")],
            capture_output=True,
            env=cli.PLAIN,
            timeout=60,
            check=True,
        )
        self.check(done.stdout + done.stderr)
        self.assertIn(b"\\033", done.stdout)
        text = done.stdout.split(b" GPUMEMTRACE_OPTIONS=", 1)[1].strip()
        if not shutil.which("bash"):
            self.skipTest("no bash on this machine")
        read = subprocess.run([b"bash", b"-c", b"printf %s " + text], capture_output=True, check=True).stdout
        # The shell may quote each character separately.
        self.assertEqual(re.sub(rb"'|\"", b"", read), b"output=/" + ODD.replace(b"\n", b""))

    def test_a_running_recorder_cannot_command_the_terminal(self):
        runtime = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, runtime)
        os.mkdir(os.path.join(runtime, "gpumemtrace"), 0o700)
        path = os.path.join(runtime, "gpumemtrace", "7.control")
        page = ControlPage(
            magic=b"GMTCTRL\n",
            version=1,
            pid=7,
            start_time_ns=10**18,
            mode=b"fu\x1b[31m\nll\x9b",
            program=ODD,
            path=b"/" + ODD,
        )
        with open(path, "wb") as file:
            file.write(bytes(page) + bytes(4096))
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            # A living recorder holds this lock.
            fcntl.fcntl(
                file,
                37 if not hasattr(fcntl, "F_OFD_SETLK") else fcntl.F_OFD_SETLK,
                struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0),
            )
            with mmap.mmap(file.fileno(), os.path.getsize(path)) as memory:
                self.ask_all(memory, {"XDG_RUNTIME_DIR": runtime})

    def ask_all(self, memory, environment):
        is_over, failed = threading.Event(), 0

        def answer():
            while not is_over.is_set():
                if struct.unpack_from("<I", memory, ControlPage.turn.offset) == (ASKED,):
                    struct.pack_into("<I", memory, ControlPage.has_failed.offset, failed)
                    memory[ControlPage.answer.offset : ControlPage.answer.offset + len(ODD)] = ODD
                    struct.pack_into("<I", memory, ControlPage.turn.offset, ANSWERED)
                time.sleep(0.005)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            listed = self.run_safely("ps", environment=environment)
            self.assertEqual(len([line for line in listed.stdout.splitlines() if line.lstrip().startswith(b"7 ")]), 1)
            # This machine may have other recorders at the same time. Each has one line.
            self.assertTrue(all(line.split()[0].isdigit() for line in listed.stdout.splitlines()[1:]), listed.stdout)
            rows = json.loads(self.run_safely("ps", "--json", environment=environment).stdout)
            self.assertTrue([row for row in rows["processes"] if "\x1b[2J" in row["program"]])
            for failed in 0, 1:
                for arguments in (
                    ["snapshot", "7"],
                    ["snapshot", "--json", "7"],
                    ["pause", "7"],
                    ["resume", "--json", "7"],
                ):
                    done = self.run_safely(*arguments, environment=environment)
                    self.assertEqual(done.returncode, 3 * failed, done.stderr)
        finally:
            is_over.set()
            thread.join()

    def test_names_of_processes(self):
        story = w.process(host=ODD, directory=ODD, executable=ODD, command=ODD + b"\0" + ODD)
        path = cli.place("forgot.gmt.gz")
        w.write(path, story, w.block("note", {"text": ODD}), w.end(0))
        for verb in "report", "info", "leaks", "check", "dump":
            self.run_safely(verb, path)

    def test_no_renderer_opens_its_own_stream(self):
        """Only the safe streams open text files, and only they write to the standard streams."""
        source = cli.SOURCE
        for folder in ("tools", os.path.join("src", "render"), os.path.join("src", "analysis")):
            for path in cli.sources_below(os.path.join(source, folder)):
                name = os.path.basename(path)
                if name not in CONSTANT_LINES:
                    with open(path, encoding="utf-8") as file:
                        self.assertNotRegex(
                            file.read(), r'write\(STD|fdopen\(|fopen\([^;]*"[wa]|dprintf\(|perror\(', name
                        )


if __name__ == "__main__":
    cli.main()
