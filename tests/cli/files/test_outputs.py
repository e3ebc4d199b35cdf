# SPDX-License-Identifier: MIT
"""Files that verbs write: a verb overwrites no recording, and replaces a file as a whole or not at all."""

import errno
import os
import pickle
import re
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import cli
import other_users
import recording
from definitions import Kind

OLD = b"what was there before\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content=OLD):
    with open(path, "wb") as file:
        file.write(content)
    return path


def without_core():
    """Disables core files and restores signals, which nohup and a shell's background jobs ignore for their children."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, signal.SIGUSR1:
        signal.signal(number, signal.SIG_DFL)


def outputs(recording, other, out):
    """Returns a command for every option that names an output. `other` is a second recording."""
    return (
        ["report", recording, "-o", out],
        ["report", "--json", recording, "-o", out],
        ["leaks", recording, "-o", out],
        ["diff", other, recording, "-o", out],
        ["check", recording, "-o", out],
        ["check", recording, "--junit", out],
        ["check", recording, "--sarif", out],
        ["check", recording, "--update-baseline", "--baseline", out],
        ["fold", recording, "-o", out],
        ["ranks", recording, "-o", out],
        ["summarize", recording, "-o", out],
        # The fixture puts a snapshot of PyTorch there.
        ["import", recording + ".pickle", "-o", out],
    )


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.recording, self.other = self.place("train.gmt.gz"), self.place("other.gmt.gz")
        shutil.copy(cli.make("outputs.gmt.gz", events=300), self.recording)
        shutil.copy(cli.make("outputs-other.gmt.gz", events=400), self.other)
        self.whole = read(self.recording)
        with open(self.recording + ".pickle", "wb") as file:
            pickle.dump({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1}]]}, file)

    def place(self, name):
        return os.path.join(self.folder, name)

    def commands(self, out):
        return outputs(self.recording, self.other, out)

    def check_nothing_is_left(self, *names):
        self.assertEqual([name for name in os.listdir(self.folder) if "unfinished" in name], list(names))


class Refusals(Case):
    def check_refused(self, arguments, words="was not overwritten", **more):
        done = cli.run(*arguments, cwd=self.folder, **more)
        self.assertEqual(done.returncode, Kind.ALLOC_FAILED, (arguments, done.stderr))
        self.assertIn(words, done.stderr)
        self.assertIn("--force", done.stderr)
        self.assertEqual(read(self.recording), self.whole, arguments)
        self.check_nothing_is_left()

    def test_no_output_of_any_verb_overwrites_its_input_or_another_recording(self):
        for out in self.recording, self.other:
            for arguments in self.commands(out):
                with self.subTest(arguments=arguments):
                    before = read(out)
                    self.check_refused(arguments)
                    self.assertEqual(read(out), before)

    def test_a_verb_recognizes_the_recording_by_another_spelling_or_a_link(self):
        os.symlink("train.gmt.gz", self.place("link"))
        os.symlink(self.place("link"), self.place("link to link"))
        os.link(self.recording, self.place("hard"))
        os.mkdir(self.place("deep"))
        os.symlink(self.folder, self.place("deep/up"))
        for out in (
            "./train.gmt.gz",
            "deep/../train.gmt.gz",
            "deep/up/train.gmt.gz",
            "link",
            "link to link",
            "hard",
            "/proc/self/cwd/train.gmt.gz",
        ):
            for arguments in self.commands(out):
                with self.subTest(out=out, arguments=arguments):
                    self.check_refused(arguments)
                    self.assertTrue(os.path.samefile(self.recording, self.place("hard")))
                    self.assertTrue(os.path.islink(self.place("link")))

    def test_a_verb_recognizes_the_recording_by_an_open_descriptor(self):
        for flags in os.O_RDWR, os.O_WRONLY | os.O_APPEND:
            fd = os.open(self.recording, flags)
            self.addCleanup(os.close, fd)
            for out in (
                f"/proc/self/fd/{fd}",
                f"/dev/fd/{fd}",
                f"/proc/thread-self/fd/{fd}",
                f"/proc/{os.getpid()}/fd/{fd}",
            ):
                for arguments in self.commands(out)[::4]:
                    with self.subTest(flags=flags, out=out, arguments=arguments):
                        self.check_refused(arguments, pass_fds=[fd])
        with open(self.recording, "rb") as file:
            self.check_refused(["report", "/dev/stdin", "-o", self.recording], stdin=file)
        with open(self.recording, "rb") as file:
            self.check_refused(["report", self.recording, "-o", "/dev/stdin"], stdin=file)

    def test_standard_output_is_not_appended_to_a_recording(self):
        for arguments in (
            ["report", self.other],
            ["dump", self.recording],
            ["info", self.other],
            ["help"],
            ["version"],
            ["check", self.recording],
            ["leaks", self.recording],
            ["env"],
            ["ps"],
            ["doctor"],
            ["report", self.other, "-o", "/dev/stdout"],
            ["report", "--force", self.other, "-o", "-"],
        ):
            with self.subTest(arguments=arguments), open(self.recording, "ab") as file:
                done = subprocess.run(
                    [cli.CLI, *arguments], stdout=file, stderr=subprocess.PIPE, env=cli.PLAIN, timeout=60, check=False
                )
                self.assertEqual(done.returncode, Kind.ALLOC_FAILED)
                self.assertEqual(
                    done.stderr, b"gpumemtrace: error: standard output is a recording and was not overwritten\n"
                )
            self.assertEqual(read(self.recording), self.whole)

    def test_a_file_with_the_name_of_a_recording_is_not_overwritten(self):
        for name, content in (
            ("new.gmt.gz", b""),
            ("cut.gmt.gz", self.whole[:15]),
            ("old.gmt.gz.1", b""),
            ("text.gmt.gz", OLD),
        ):
            write(self.place(name), content)
            for arguments in self.commands(self.place(name))[::4]:
                self.check_refused(arguments, "has the name of a recording and was not overwritten")
                self.assertEqual(read(self.place(name)), content)

    def test_a_recording_is_recognized_by_its_content(self):
        os.rename(self.other, self.place("notes.txt"))
        self.other = self.place("notes.txt")
        for arguments in self.commands(self.other):
            self.check_refused(arguments)

    def test_other_files_that_check_reads_are_not_overwritten(self):
        limits, suppressions, owners = (
            write(self.place(name), content)
            for name, content in (
                ("limits", b"max-peak = 18GiB\n"),
                ("suppressions", b"leak:nothing\n"),
                ("owners", b"# none\n"),
            )
        )
        baseline = self.place("baseline")
        self.assertIn(cli.run("check", self.recording, "--update-baseline", "--baseline", baseline).returncode, (0, 1))
        for option, path in (
            ("--limits", limits),
            ("--suppressions", suppressions),
            ("--owners", owners),
            ("--baseline", baseline),
        ):
            before = read(path)
            for output in "-o", "--junit", "--sarif":
                self.check_refused(["check", self.recording, option, path, output, path])
                self.assertEqual(read(path), before)
        self.check_refused(["report", self.recording, "--owners", owners, "-o", owners])

    def test_two_outputs_of_one_command_are_two_files(self):
        out = self.place("out")
        os.symlink("out", self.place("link"))
        for first, second in (("--junit", "--sarif"), ("-o", "--junit"), ("--sarif", "-o")):
            for there in False, True:
                if there:
                    write(out)
                done = cli.run(
                    "check", self.recording, first, out, second, "link" if there else "./out", cwd=self.folder
                )
                self.assertEqual(done.returncode, 3)
                self.assertIn("are the same file; each output needs its own", done.stderr)
                self.assertEqual(os.path.exists(out), there)
                if there:
                    os.unlink(out)

    def test_the_summary_of_a_job_is_not_appended_to_a_recording(self):
        done = cli.run(
            "check", self.other, environment={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": self.recording}
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn("is a recording and was not overwritten", done.stderr)
        self.assertEqual(read(self.recording), self.whole)

    def test_run_refuses_before_the_program_has_run(self):
        ran = self.place("ran")
        done = cli.run("run", f"--check=--junit={self.other}", "--", "touch", ran)
        self.assertEqual(done.returncode, 125)
        self.assertIn("was not overwritten", done.stderr)
        self.assertFalse(os.path.exists(ran))

    def test_force_overwrites_a_recording(self):
        for arguments in self.commands(self.place("to.gmt.gz")):
            shutil.copy(self.other, self.place("to.gmt.gz"))
            before = read(self.other)
            done = cli.run(arguments[0], "--force", *arguments[1:])
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertNotEqual(read(self.place("to.gmt.gz")), before)
        self.assertEqual(cli.run("fold", "--force", self.recording, "-o", self.recording).returncode, 0)
        self.assertEqual(cli.report(self.recording)["events"]["recorded"], 300)


class Whole(Case):
    """The old file stays until the new one is complete."""

    def setUp(self):
        super().setUp()
        self.out = self.place("out")

    def test_a_command_that_fails_keeps_the_old_file(self):
        bad = write(self.place("bad"), b"no recording")
        for arguments in outputs(bad, self.other, self.out):
            with self.subTest(arguments=arguments):
                write(self.out)
                self.assertEqual(cli.run(*arguments).returncode, 3)
                self.assertEqual(read(self.out), OLD)
                os.unlink(self.out)
                self.assertEqual(cli.run(*arguments).returncode, 3)
                self.assertFalse(os.path.exists(self.out))
                self.check_nothing_is_left()

    def test_empty_output_replaces_the_old_file(self):
        write(self.out)
        story = recording.Story()
        story.alloc(recording.MiB)
        # No suppression can name a block without a stack.
        path = story.write("stackless.gmt.gz")
        done = cli.run("check", "--gen-suppressions", "--max-peak=1B", path, "-o", self.out)
        self.assertEqual((done.returncode, read(self.out)), (1, b""), done.stderr)

    def test_a_full_disk_keeps_the_old_file(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (30, 30))

        for arguments in self.commands(self.out):
            with self.subTest(arguments=arguments):
                write(self.out)
                done = subprocess.run(
                    [cli.CLI, *arguments],
                    capture_output=True,
                    text=True,
                    env=cli.PLAIN,
                    timeout=60,
                    preexec_fn=limit,
                    check=False,
                )
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"{self.out}: {os.strerror(errno.EFBIG)}", done.stderr)
                self.assertEqual(read(self.out), OLD)
                self.check_nothing_is_left()

    def start_and_stop(self, number, *command):
        """Stops a command by a signal while it waits for the rest of its recording."""
        pipe = self.place("pipe")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        with subprocess.Popen(
            [cli.CLI, *command[:1], pipe, *command[1:]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=cli.PLAIN,
            cwd=self.folder,
            preexec_fn=without_core,
        ) as process:
            with open(pipe, "wb") as file:
                # The reader opens its output before the pipe, which is now open.
                file.write(self.whole[: len(self.whole) // 2])
                file.flush()
                process.send_signal(number)
                process.wait(60)
        self.assertEqual(process.returncode, -number)
        return process.pid

    def test_a_signal_leaves_the_old_file_and_no_temporary_one(self):
        for verb in "report", "fold", "check", "leaks":
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, signal.SIGUSR1:
                with self.subTest(verb=verb, number=number):
                    write(self.out)
                    self.start_and_stop(number, verb, "-o", self.out)
                    self.assertEqual(read(self.out), OLD)
                    self.check_nothing_is_left()

    def test_the_unfinished_file_of_a_killed_command_is_named_so_and_blocks_nothing(self):
        for verb in "fold", "report":
            pid = self.start_and_stop(signal.SIGKILL, verb, "-o", self.out)
            self.check_nothing_is_left(f"out.unfinished-{pid}")
            done = cli.run(verb, self.recording, "-o", self.out)
            self.assertEqual((done.returncode, os.path.exists(self.out)), (0, True), done.stderr)
            self.check_nothing_is_left(f"out.unfinished-{pid}")
            os.unlink(self.place(f"out.unfinished-{pid}"))
            os.unlink(self.out)

    def test_existing_temporary_names_block_nothing(self):
        write(self.place("out.unfinished"))
        script = f"for n in '' -1 -2; do touch out.unfinished-$$$n; done; exec {cli.CLI} fold {self.recording} -o out"
        done = subprocess.run(
            ["sh", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(cli.report(self.out)["events"]["recorded"], 300)

    def test_a_long_name_has_a_temporary_file_too(self):
        name = self.place("x" * 255)
        self.assertEqual(cli.run("report", self.recording, "-o", name).returncode, 0)
        self.assertEqual(read(name), cli.run("report", self.recording).stdout.encode())

    def test_mode_owner_and_link_stay_those_of_the_old_file(self):
        write(self.out)
        os.chmod(self.out, 0o640)
        if os.geteuid() == 0:
            os.chown(self.out, 4711, 4712)
        before = os.stat(self.out)
        os.symlink("out", self.place("link"))
        for arguments in self.commands(self.place("link")):
            with self.subTest(arguments=arguments):
                cli.run(arguments[0], "--force", *arguments[1:])
                now = os.stat(self.out)
                self.assertEqual((now.st_mode, now.st_uid, now.st_gid), (before.st_mode, before.st_uid, before.st_gid))
                self.assertNotEqual(read(self.out), OLD)
                self.assertEqual(os.readlink(self.place("link")), "out")
                write(self.out)

    def test_a_new_file_has_the_usual_mode_and_a_recording_is_private(self):
        for arguments, mode in ((["report", self.recording], 0o640), (["fold", self.recording], 0o600)):
            done = cli.run(*arguments, "-o", self.out, umask=0o027)
            self.assertEqual((done.returncode, stat.S_IMODE(os.stat(self.out).st_mode)), (0, mode))
            os.unlink(self.out)

    def test_a_link_to_a_missing_file_creates_it(self):
        os.mkdir(self.place("results"))
        os.symlink("results/new", self.place("link"))
        self.assertEqual(cli.run("report", self.recording, "-o", self.place("link")).returncode, 0)
        self.assertTrue(os.path.islink(self.place("link")))
        self.assertEqual(os.listdir(self.place("results")), ["new"])

    def test_a_link_in_a_circle_is_an_error(self):
        os.symlink("b", self.place("a"))
        os.symlink("a", self.place("b"))
        done = cli.run("report", self.recording, "-o", self.place("a"))
        self.assertEqual((done.returncode, os.strerror(errno.ELOOP) in done.stderr), (3, True))

    def run_as_nobody(self, *arguments):
        return subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", other_users.reachable(cli.CLI), *arguments],
            capture_output=True,
            text=True,
            env={**cli.PLAIN, "XDG_CACHE_HOME": "/nonexistent"},
            timeout=60,
            check=False,
        )

    def test_in_a_folder_without_write_access_a_file_is_overwritten_at_the_end(self):
        if os.geteuid() or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        os.chmod(self.folder, 0o755)
        os.chmod(self.recording, 0o644)
        for content in OLD, OLD * 10000:
            write(self.out, content)
            os.chmod(self.out, 0o666)
            done = self.run_as_nobody("report", self.recording, "-o", self.out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(read(self.out), cli.run("report", self.recording).stdout.encode())
        write(self.out)
        os.chmod(self.out, 0o644)
        done = self.run_as_nobody("report", self.recording, "-o", self.out)
        self.assertEqual((done.returncode, read(self.out)), (3, OLD))
        self.check_nothing_is_left()


class Special(Case):
    """A verb writes directly to an output that is not a regular file."""

    def expected(self):
        return cli.run("report", self.recording).stdout

    def test_dev_stdout_and_other_descriptors_keep_their_place_in_the_file(self):
        out = self.place("log")
        for name in "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
            with open(out, "w", encoding="utf-8") as file:
                file.write("first\n")
                file.flush()
                inode = os.fstat(file.fileno()).st_ino
                done = subprocess.run(
                    [cli.CLI, "report", self.recording, "-o", name], stdout=file, env=cli.PLAIN, timeout=60, check=False
                )
                self.assertEqual(done.returncode, 0)
            self.assertEqual(read(out).decode(), "first\n" + self.expected())
            self.assertEqual(os.stat(out).st_ino, inode)
        self.assertEqual(cli.run("report", self.recording, "-o", "/dev/stdout").stdout, self.expected())

    def test_pipes_and_devices_are_written_to(self):
        reading, writing = os.pipe()
        done = cli.run("report", self.recording, "-o", f"/dev/fd/{writing}", pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as file:
            self.assertEqual((done.returncode, file.read()), (0, self.expected()))
        pipe = self.place("pipe")
        os.mkfifo(pipe)
        with subprocess.Popen([cli.CLI, "report", self.recording, "-o", pipe], env=cli.PLAIN) as process:
            self.assertEqual(read(pipe).decode(), self.expected())
        self.assertEqual(process.returncode, 0)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        for arguments in self.commands("/dev/null"):
            self.assertIn(cli.run(*arguments).returncode, (0, 1))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.check_nothing_is_left()

    def test_a_descriptor_that_is_not_open_or_not_for_writing_is_an_error(self):
        self.assertEqual(cli.run("report", self.recording, "-o", "/dev/fd/77").returncode, 3)
        with open("/dev/null", "rb") as file:
            self.assertEqual(cli.run("report", self.recording, "-o", "/dev/stdin", stdin=file).returncode, 3)

    def test_a_folder_as_output_is_refused(self):
        done = cli.run("report", self.recording, "-o", self.folder)
        self.assertEqual((done.returncode, os.strerror(errno.EISDIR) in done.stderr), (3, True))

    def test_with_a_closed_standard_stream_no_message_gets_into_a_file(self):
        out = self.place("out")
        cut = write(self.place("cut.gmt.gz"), self.whole[:-40])
        for closed in "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-":
            subprocess.run(
                ["sh", "-c", f"{cli.CLI} report {cut} -o {out} {closed}"], env=cli.PLAIN, timeout=60, check=True
            )
            self.assertEqual(read(out).decode(), cli.run("report", cut).stdout)
        done = subprocess.run(
            ["sh", "-c", f"{cli.CLI} report {cut} 1>&-"], env=cli.PLAIN, timeout=60, capture_output=True, check=False
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"standard output: Bad file descriptor", done.stderr)


class EveryOutput(unittest.TestCase):
    def test_every_option_that_names_an_output_is_tried_here(self):
        tried = {argument for arguments in outputs("a", "b", "c") for argument in arguments}
        for verb in "report leaks diff check fold import ranks summarize dump info ps env doctor".split():
            for letter, name, meaning in re.findall(
                r"^ +(-\w, |)(--[\w-]+)=FILE +(.*)", cli.run(verb, "-h").stdout, re.M
            ):
                if meaning.startswith("write"):
                    self.assertTrue(name in tried or letter[:2] in tried, (verb, name))

    def test_no_source_opens_a_file_for_writing_in_another_way(self):
        tools = os.path.join(cli.SOURCE, "tools")
        # These write recordings, an output that is open already, files in memory, pipes to children, or empty files that they remove at once.
        others = """output output_temporary complete_recording report_each_parallel doctor_subprocess
                    document_stream replacement recorder_output_check running_processes""".split()
        for path in cli.sources_below(tools):
            name = os.path.basename(path)
            if name.removesuffix(".c") in others:
                continue
            self.assertNotRegex(
                read(path).decode(), r'fopen\([^;]*"[wa]|fdopen\(|O_CREAT|dprintf\(|perror\(|\bwrite\((fd|STD|\d)', name
            )


if __name__ == "__main__":
    cli.main()
