# SPDX-License-Identifier: MIT
"""run: what the program receives, what it returns, and the messages."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import cli
import other_users
from installed import install


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program, cls.library = install("usual", "lib", "gpumemtrace")

    def setUp(self):
        self.folder = cli.place(self.id().split(".")[-1])
        os.makedirs(self.folder, exist_ok=True)

    def run_program(self, *arguments, environment=None, program=None):
        return subprocess.run(
            [program or self.program, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env={**cli.PLAIN, **(environment or {})},
        )

    def shell(self, script, *options, **more):
        return self.run_program("run", *options, "--", "sh", "-c", script, **more)

    def test_the_output_and_exit_code_of_the_program_are_passed_on(self):
        done = self.shell("echo out; echo err >&2; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "out\n"))
        self.assertEqual(done.stderr, "err\ngpumemtrace: nothing was recorded: the program did not use CUDA\n")

    def test_a_signal_that_ends_the_program_gives_128_and_its_number(self):
        self.assertEqual(self.shell("kill -9 $$").returncode, 137)
        self.assertEqual(self.shell("kill -TERM $$").returncode, 143)

    def test_a_program_that_cannot_be_found_or_executed_gives_127_or_126(self):
        done = self.run_program("run", "--", "no-such-program")
        self.assertEqual(
            (done.returncode, done.stderr), (127, "gpumemtrace: error: no-such-program: No such file or directory\n")
        )
        path = os.path.join(self.folder, "plain")
        with open(path, "w", encoding="utf-8") as file:
            file.write("text")
        done = self.run_program("run", path)
        self.assertEqual((done.returncode, done.stderr), (126, f"gpumemtrace: error: {path}: Permission denied\n"))

    def test_a_forbidden_folder_in_path_does_not_cause_126(self):
        folder = other_users.public_folder()
        program, shut = other_users.copy(self.program, folder), os.path.join(folder, "shut")
        other_users.copy(self.library, folder)
        os.mkdir(shut, 0)
        self.addCleanup(os.rmdir, shut)
        with open(os.path.join(folder, "plain"), "w", encoding="utf-8") as file:
            file.write("text")

        output = os.path.join(tempfile.gettempdir(), f"gpumemtrace-test-{os.getpid()}.%p.gmt.gz")

        def ask(*arguments):
            return subprocess.run(
                [program, *arguments],
                capture_output=True,
                text=True,
                timeout=120,
                cwd="/",
                env={**cli.PLAIN, "PATH": f"{shut}:{folder}:{os.environ['PATH']}"},
                **other_users.become_nobody(),
            )

        done = ask("run", "-o", output, "--", "no-such-program")
        self.assertEqual(
            (done.returncode, done.stderr), (127, "gpumemtrace: error: no-such-program: No such file or directory\n")
        )
        self.assertEqual(ask("run", "-o", output, "plain").returncode, 126)
        self.assertEqual(ask("run", "-q", "-o", output, "true").returncode, 0)
        for name, words in ("no-such-program", "not found in PATH"), ("plain", "may not be executed"):
            found = {row["id"]: row["finding"] for row in json.loads(ask("doctor", "--json", name).stdout)["checks"]}
            self.assertIn(words, found["command_found"])

    def test_failures_of_run_itself_give_125(self):
        self.assertEqual(self.run_program("run").returncode, 125)
        self.assertEqual(self.run_program("run", "--nonsense", "true").returncode, 125)
        program, library = install("bare", "lib", "gpumemtrace")
        os.unlink(library)
        done = self.run_program("run", "true", program=program)
        self.assertEqual(done.returncode, 125)
        self.assertIn("libgpumemtrace.so was not found", done.stderr)

    def test_the_recorder_is_put_in_front_of_what_was_preloaded(self):
        # A program built with AddressSanitizer refuses to start if another library is preloaded first.
        done = self.shell(
            "echo $LD_PRELOAD", environment={"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"}
        )
        self.assertEqual(done.stdout, f"{self.library}:libm.so.6\n")
        self.assertEqual(self.shell("echo $LD_PRELOAD").stdout, f"{self.library}\n")

    def test_options_reach_the_recorder_after_those_of_the_environment(self):
        start_log = os.path.join(self.folder, "start_log")
        done = self.run_program(
            "run",
            "--stacks=python",
            "--free-stacks=on",
            "-o",
            "a:'b\".gz",
            "true",
            environment={"FAKE_RECORDER": start_log, "GPUMEMTRACE_OPTIONS": "depth=9"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(start_log, encoding="utf-8") as file:
            # The program may change its folder, so the recorder gets the whole path.
            output = f"""'{self.folder}/a:'"'"'b".gz'"""
            self.assertEqual(file.read(), f"depth=9:stacks=python:free_stacks=on:output={output}")

    def test_an_option_of_run_replaces_the_same_option_of_the_environment(self):
        start_log = os.path.join(self.folder, "start_log")
        for before, expected in (
            ("depth=9:stacks=all", "stacks=all:depth=4"),
            ("depth=9:", "depth=4"),
            ("depth=12x", "depth=4"),
            ("output='a:b':depth=9::nvtx=on", "output='a:b':nvtx=on:depth=4"),
        ):
            done = self.run_program(
                "run",
                "--depth=5",
                "--depth=4",
                "true",
                environment={"FAKE_RECORDER": start_log, "GPUMEMTRACE_OPTIONS": before},
            )
            self.assertEqual((done.returncode, done.stderr[:20]), (0, "gpumemtrace: nothing"), done.stderr)
            with open(start_log, encoding="utf-8") as file:
                self.assertEqual(file.read(), expected)

    def test_options_that_the_recorder_would_refuse_are_refused_before_the_program_starts(self):
        for arguments, variable, words in (
            ([], "depth=12x", "depth=12x is ignored: did you mean 12?"),
            ([], "dept=3", "did you mean depth?"),
            ([], "output='a", "unclosed quote"),
            (["-o", "x/"], "", "names a folder"),
            (["-o", "%z"], "", "unknown token %z"),
            (["--window=3"], "", "add mode=window"),
            (["--stacks=none"], "free_stacks=on", "remove one of them"),
        ):
            done = self.run_program(
                "run", *arguments, "--", "echo", "started", environment={"GPUMEMTRACE_OPTIONS": variable}
            )
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn(words, done.stderr)
            self.assertTrue(done.stderr.startswith("gpumemtrace: error: run: options of the recorder: "), done.stderr)
        self.assertEqual(self.run_program("env", "--window=3").returncode, 2)

    def test_options_after_the_program_belong_to_it(self):
        self.assertEqual(self.run_program("run", "echo", "--stacks=x", "-q").stdout, "--stacks=x -q\n")
        self.assertEqual(self.run_program("run", "--", "echo", "--", "-o").stdout, "-- -o\n")

    def check_next(self, done, name):
        self.assertTrue(done.stderr.startswith("gpumemtrace: error: "), done.stderr)
        self.assertTrue(done.stderr.endswith(f"next: gpumemtrace report {name}\n"), done.stderr)

    def test_the_next_command_names_the_file_that_is_new(self):
        for name in "gpumemtrace.a.b.1.gmt.gz", "other.gmt.gz":
            with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
                pass
        done = self.shell("touch gpumemtrace.sh.node.r3.77.gmt.gz")
        # The file is empty, so there is no first screen.
        self.check_next(done, "gpumemtrace.sh.node.r3.77.gmt.gz")
        done = self.shell("touch gpumemtrace.sh.node.r3.77.1.gmt.gz gpumemtrace.x.y.2.gmt.gz")
        self.assertEqual(
            done.stderr, "next: gpumemtrace report gpumemtrace.sh.node.r3.77.1.gmt.gz gpumemtrace.x.y.2.gmt.gz\n"
        )

    def test_the_next_command_follows_the_output_option_wherever_it_is_given(self):
        os.makedirs(os.path.join(self.folder, "x[1]"))
        done = self.shell("touch 'x[1]/12.100%.gz'", "-o", "x[1]/%p.100%%.gz")
        self.check_next(done, "'x[1]/12.100%.gz'")
        done = self.shell("touch q.me.gz", environment={"GPUMEMTRACE_OPTIONS": "output='q.%q{USER}.gz':depth=4"})
        self.check_next(done, "q.me.gz")

    def test_many_files_are_named_by_their_pattern(self):
        done = self.shell("for i in 1 2 3 4 5 6 7 8 9; do touch $i.gz; done", "-o", "%p.gz")
        self.assertEqual(done.stderr, "gpumemtrace: 9 recordings were written\nnext: gpumemtrace report *.gz\n")

    def test_quiet_prints_nothing(self):
        self.assertEqual(self.shell("true", "-q").stderr, "")
        self.assertEqual(self.shell("touch gpumemtrace.sh.a.1.gmt.gz", "--quiet").stderr, "")

    def start(self, script):
        process = subprocess.Popen(
            [self.program, "run", "--", "sh", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=cli.PLAIN,
            start_new_session=True,
            preexec_fn=take_signals,
        )
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_signals_to_run_are_passed_on_to_the_program(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1:
            name = number.name.removeprefix("SIG")
            process = self.start(f"trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.05; done")
            process.send_signal(number)
            out, _ = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (5, f"got {name}\n"))

    def test_a_signal_of_the_terminal_reaches_the_program_once(self):
        # The program takes signals one by one, so that two signals do not merge.
        script = (
            "import signal, time\n"
            "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
            "print('ready', flush=True)\n"
            "got = [signal.sigtimedwait([signal.SIGINT], 120)]\n"
            "while one := signal.sigtimedwait([signal.SIGINT], 0.5): got.append(one)\n"
            "print(len(got))\n"
        )
        main, secondary = os.openpty()
        process = subprocess.Popen(
            [self.program, "run", "-q", "--", sys.executable, "-c", script],
            stdin=secondary,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=cli.PLAIN,
            preexec_fn=lambda: take_terminal(secondary),
        )
        self.assertEqual(process.stdout.readline(), "ready\n")
        os.write(main, b"\x03")
        out, _ = process.communicate(timeout=180)
        os.close(main)
        os.close(secondary)
        self.assertEqual(out, "1\n")

    def test_the_program_ignores_the_signals_that_the_caller_ignores(self):
        script = "trap '' HUP; exec \"$0\" run -q -- sh -c 'kill -HUP $$; echo alive'"
        done = subprocess.run(
            ["sh", "-c", script, self.program],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self.folder,
            env=cli.PLAIN,
        )
        self.assertEqual(done.stdout, "alive\n")

    def test_the_library_is_found_next_to_run_in_a_build_folder_and_installed(self):
        for place in (["bin"], ["preload"], ["lib", "gpumemtrace"], ["lib64", "gpumemtrace"]):
            program, library = install("at-" + "-".join(place), *place)
            self.assertEqual(self.run_program("env", program=program).stdout, f"LD_PRELOAD={library}\n")

    def test_through_a_link_the_library_is_found_too(self):
        link = os.path.join(self.folder, "gmt")
        os.symlink(self.program, link)
        self.assertEqual(self.run_program("env", program=link).stdout, f"LD_PRELOAD={self.library}\n")

    def test_a_recorder_of_another_version_is_named_and_used(self):
        start_log = os.path.join(self.folder, "start_log")
        for version in ("0.0.7", "1" * 100, ""):
            program, library = install("version" + version[:5], "lib", "gpumemtrace")
            with open(library, "ab") as file:
                file.write(f"gpumemtrace recorder, version {version}".encode())
            done = self.shell("true", "-q", program=program, environment={"FAKE_RECORDER": start_log})
            self.assertEqual(done.returncode, 0)
            warning = f"gpumemtrace: warning: {library} has version {version[:31]}, this program has version "
            self.assertEqual(done.stderr.startswith(warning), bool(version), done.stderr)
            self.assertEqual(done.stderr.count("\n"), bool(version))
            self.assertTrue(os.path.exists(start_log))

    def test_another_recorder_in_ld_preload_is_replaced_and_other_libraries_stay(self):
        _, other = install("other", "lib", "gpumemtrace")
        for before in (f"libm.so.6:{other} libdl.so.2", f"{other}", f"{self.library}: libm.so.6"):
            others = [f":{name}" for name in ("libm.so.6", "libdl.so.2") if name in before]
            done = self.shell(
                "echo $LD_PRELOAD", environment={"LD_PRELOAD": before, "ASAN_OPTIONS": "verify_asan_link_order=0"}
            )
            self.assertEqual(done.stdout, f"{self.library}{''.join(others)}\n")

    def test_an_audit_library_whose_path_has_a_space_stays_whole(self):
        program, _ = install("audit", "lib", "gpumemtrace")
        _, audit = install("audit", "lib", "gpumemtrace", file="libgpumemtrace-audit.so")
        for before in ("/no/my audit/lib.so", f"/no/a b/x.so:{audit}:/no/c.so", f"{audit}"):
            others = [f":{name}" for name in before.split(":") if name != audit]
            # The loader says on stderr that it cannot use these libraries.
            done = self.shell("echo $LD_AUDIT", "--audit", program=program, environment={"LD_AUDIT": before})
            self.assertEqual(done.stdout, f"{audit}{''.join(others)}\n", done.stderr)

    def test_a_path_that_ld_preload_cannot_name_is_refused_with_a_hint(self):
        program, library = install("with space", "lib", "gpumemtrace")
        done = self.run_program("run", "true", program=program)
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"{library}: LD_PRELOAD does not support a path with a space", done.stderr)
        self.assertIn("hint: ", done.stderr)


def take_signals():
    """Restores signals: nohup and a shell's background jobs ignore them, and the program would inherit this."""
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1:
        signal.signal(number, signal.SIG_DFL)


def take_terminal(terminal):
    os.setsid()
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    cli.main()
