# SPDX-License-Identifier: MIT
"""The effect of options. A wrong option or a bad place costs one line and nothing else."""

import glob
import gzip
import os
import tempfile
import unittest

import tap
from definitions import Kind
from recorded_run import RecordedRun, built, cli, records

BUSY = [built("busy-threads"), "1", "20"]


class Options(unittest.TestCase):
    def check_warned_once(self, run, *words):
        self.assertEqual((run.code, run.out), (0, "20\n"))
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        for word in ("gpumemtrace: ", *words):
            self.assertIn(word, run.err)

    def test_an_unknown_option_is_one_line_and_other_options_count(self):
        run = RecordedRun(BUSY, {"dept": "3", "stacks": "none"})
        self.check_warned_once(run, "unknown option `dept`; did you mean depth?")
        self.assertEqual({event["stack"] for event in run.records("event")}, {0})

    def test_wrong_options_are_in_the_file_and_shown_by_report_and_info(self):
        run = RecordedRun(BUSY, {"depth": "12x"})
        line = "GPUMEMTRACE_OPTIONS: depth=12x is ignored: did you mean 12?; depth=128 is used"
        self.check_warned_once(run, line)
        self.assertEqual([row["text"] for row in run.records("note")], [line])
        for verb in ["report", "--full"], ["info"]:
            self.assertIn(line, cli(*verb, run.file).stdout)
        options = {row["key"]: row["value"] for row in run.records("option")}
        self.assertEqual(options["depth"], "128")

    def test_many_wrong_options_are_four_lines_and_the_last_line_counts_the_rest(self):
        run = RecordedRun(BUSY, environment={"GPUMEMTRACE_OPTIONS": "a1=1:b2=2:c3=3:d4=4:e5=5:f6=6"})
        self.assertEqual((run.code, run.out), (0, "20\n"))
        lines = run.err.splitlines()
        self.assertEqual(len(lines), 4, lines)
        self.assertIn("3 more errors", lines[-1])
        self.assertEqual([f"gpumemtrace: {row['text']}" for row in run.records("note")], lines)

    def test_a_child_of_fork_has_the_note_too(self):
        run = RecordedRun([built("forks")], {"dept": "3"})
        self.assertGreater(len(run.files), 1)
        for path in run.files:
            self.assertIn("`dept`", "".join(row["text"] for row in records(path, "note")))

    def test_options_that_contradict_each_other_are_one_line(self):
        run = RecordedRun(BUSY, {"window": "30s"})
        self.check_warned_once(run, "window=30s has no effect with mode=full; add mode=window")

    def test_the_last_of_two_values_counts_for_options_that_are_read_early(self):
        probe = built("probe")
        for text, is_off in (
            ("exports=off:exports=on", False),
            ("exports=on:exports=off", True),
            ("output='a:exports=off'", False),
        ):
            run = RecordedRun([probe], environment={"GPUMEMTRACE_OPTIONS": text})
            # The first column is about weak references, which find the recorder's functions unless the option is off.
            self.assertEqual("0" in {line.split()[0] for line in run.out.splitlines()}, is_off)

    def test_a_bad_value_is_one_line_and_the_default_counts(self):
        for key, value in (
            ("stacks", "some"),
            ("depth", "0"),
            ("depth", "99999999999999999999"),
            ("free_stacks", ""),
            ("verbosity", "-1"),
            ("overflow", "blockdrop"),
            ("writer", "eager"),
            ("depth", "12x"),
            ("max_size", "4GiBx"),
            ("max_size", "1KiB"),
            ("memory", "-1"),
            ("memory", "64"),
            ("memory", " 64MiB"),
        ):
            with self.subTest(key=key, value=value):
                run = RecordedRun(BUSY, {key: value})
                self.check_warned_once(run, key)
                self.assertEqual(len(run.records("end")), 1)

    def test_a_word_without_a_value_is_one_line(self):
        run = RecordedRun(BUSY, environment={"GPUMEMTRACE_OPTIONS": "help:output=a.gmt.gz"})
        self.check_warned_once(run, "help")

    def test_a_quote_that_is_never_closed_is_one_line(self):
        run = RecordedRun(BUSY, environment={"GPUMEMTRACE_OPTIONS": "output='a.gmt.gz"})
        self.check_warned_once(run, "quote")

    def test_a_device_as_output_is_one_line_and_no_file(self):
        before = sorted(glob.glob("/dev/null*"))
        run = RecordedRun(BUSY, environment={"GPUMEMTRACE_OPTIONS": "output=/dev/null"})
        self.assertEqual((run.code, run.out, run.files), (0, "20\n", []))
        self.assertRegex(run.err, r"^gpumemtrace: /dev/null is a device; .*\n$")
        self.assertEqual(sorted(glob.glob("/dev/null*")), before)

    def test_verbosity_0_prints_nothing(self):
        run = RecordedRun(BUSY, {"verbosity": "0", "dept": "3"})
        self.assertEqual(run.err, "")

    def test_help_lists_every_option_and_the_program_runs(self):
        run = RecordedRun(BUSY, {"help": "1"})
        for key in (
            "output",
            "stacks",
            "free_stacks",
            "depth",
            "overflow",
            "writer",
            "exports",
            "dynsym",
            "watch_code",
            "nvtx",
            "samples",
            "nvml",
            "command",
            "verbosity",
        ):
            self.assertIn(f"  {key}=", run.err)
        self.assertEqual(run.out, "20\n")

    def test_options_in_force_are_in_the_file(self):
        run = RecordedRun(BUSY, {"depth": "7", "free_stacks": "on"})
        options = {row["key"]: row["value"] for row in run.records("option")}
        self.assertEqual((options["depth"], options["free_stacks"], options["stacks"]), ("7", "on", "all"))

    def test_command_off_keeps_neither_arguments_nor_folder(self):
        for value, there in (("on", True), ("off", False)):
            run = RecordedRun(
                ["bash", "-c", f"exec -a secret-argument {BUSY[0]} 1 20"], {"command": value, "stacks": "none"}
            )
            (process,) = run.records("process")
            self.assertEqual(bool(process["command"]), there)
            self.assertEqual(bool(process["directory"]), there)
            text = gzip.open(run.file).read()
            self.assertEqual(b"secret-argument" in text, there)

    def test_free_stacks_puts_stacks_on_frees(self):
        run = RecordedRun(BUSY, {"free_stacks": "on"})
        self.assertNotIn(0, {event["stack"] for event in run.records("event")})

    def test_depth_cuts_stacks_and_marks_them(self):
        run = RecordedRun(BUSY, {"depth": "2"})
        for stack in run.records("stack"):
            self.assertEqual((len(stack["items"]), stack["truncated"]), (2, 1))


class Output(unittest.TestCase):
    def files(self, template, environment=None):
        run = RecordedRun(BUSY, {"output": template}, environment)
        self.assertEqual(run.code, 0, run.err)
        return run, sorted(os.path.relpath(path, run.folder) for path in run.files)

    def test_tokens_are_replaced_and_folders_made(self):
        host = os.uname().nodename
        run, (name,) = self.files("a/%h/b-%e-%q{COLOUR}-%%.gmt.gz", {"COLOUR": "bl/ue"})
        self.assertEqual(name, f"a/{host}/b-busy-threads-bl_ue-%.gmt.gz")

    def test_a_value_with_a_colon_may_be_quoted(self):
        _, (name,) = self.files("a:b.gmt.gz")
        self.assertEqual(name, "a:b.gmt.gz")

    def test_the_rank_is_in_the_name_and_in_the_file(self):
        _, (name,) = self.files("x.%h.gmt.gz", {"RANK": "3", "LOCAL_RANK": "1"})
        self.assertEqual(name, f"x.{os.uname().nodename}.r3.gmt.gz")
        _, (name,) = self.files("x.gmt.gz", {"SLURM_PROCID": "12"})
        self.assertEqual(name, "x.r12.gmt.gz")
        run, (name,) = self.files("x-%r-%l.gmt.gz", {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "2"})
        self.assertEqual(name, "x-5-2.gmt.gz")
        (process,) = run.records("process")
        self.assertEqual((process["rank"], process["local_rank"]), (5, 2))

    def test_a_percent_sign_that_is_written_twice_begins_no_token(self):
        _, (name,) = self.files("100%%hot %%r/x.gmt.gz", {"RANK": "3"})
        self.assertEqual(name, "100%hot %r/x.r3.gmt.gz")

    def test_the_variables_of_the_launcher_are_in_the_file_and_no_other_variable(self):
        launcher = {"RANK": "3", "WORLD_SIZE": "8", "SLURM_JOB_ID": "4711", "TORCHELASTIC_RUN_ID": "x" * 300}
        run = RecordedRun(BUSY, environment={**launcher, "MASTER_ADDR": "", "SECRET_TOKEN": "hidden"})
        rows = {row["name"]: row["value"] for row in run.records("environment")}
        self.assertEqual(rows, {**launcher, "TORCHELASTIC_RUN_ID": "x" * 255})

    def test_nothing_is_ever_overwritten(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                RecordedRun(BUSY, {"output": f"{folder}/same.gmt.gz"})
            self.assertEqual(sorted(os.listdir(folder)), ["same.1.gmt.gz", "same.2.gmt.gz", "same.gmt.gz"])
            for name in os.listdir(folder):
                self.assertEqual(len(records(os.path.join(folder, name), "end")), 1)

    def test_an_impossible_file_name_is_one_line_and_the_default_counts(self):
        for template, word in (
            ("x%z.gmt.gz", "%z"),
            ("folder/", "names a folder"),
            ("..", "names a folder"),
            ("x" * 256, "more than 255 bytes"),
            ("y" * 5000, "is too long"),
        ):
            with self.subTest(template[:20]):
                run, (name,) = self.files(template)
                self.assertRegex(name, r"^gpumemtrace\.busy-threads\..*\.gmt\.gz$")
                self.assertEqual(len(run.err.splitlines()), 1, run.err)
                self.assertIn(word, run.err)

    def test_an_impossible_folder_is_one_line(self):
        for template, word in (("/proc/nowhere/x.gmt.gz", "/proc/nowhere"), ("/dev/null/x.gmt.gz", "/dev/null")):
            with self.subTest(template):
                run = RecordedRun(BUSY, {"output": template})
                self.assertEqual((run.code, run.out), (0, "20\n"))
                self.assertEqual(len(run.err.splitlines()), 1, run.err)
                self.assertIn(word, run.err)

    def test_a_full_disk_is_one_line_and_the_program_continues(self):
        # The size limit replaces a full disk: writes fail at the same place.
        command = ["bash", "-c", f"ulimit -f 8; exec {BUSY[0]} 2 300000"]
        run = RecordedRun(command, {"stacks": "none"})
        self.assertEqual((run.code, run.out), (0, "600000\n"), run.err)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn("continues", run.err)
        self.assertLessEqual(os.path.getsize(run.file), 8 * 1024)

    @unittest.skipUnless(os.getuid() == 0, "needs root to mount a small file system")
    def test_a_full_file_system_is_one_line_and_the_program_continues(self):
        script = (
            "mkdir m && mount -t tmpfs -o size=16k none m && "
            f"GPUMEMTRACE_OPTIONS=output=m/x.gmt.gz:stacks=none exec {BUSY[0]} 2 300000"
        )
        run = RecordedRun(["unshare", "-m", "bash", "-c", script])
        if "unshare" in run.err or "mount" in run.err:
            self.skipTest("no mount namespace to be had here")
        self.assertEqual((run.code, run.out), (0, "600000\n"), run.err)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)

    @unittest.skipUnless(os.getuid() == 0, "needs root to hide a library")
    def test_without_libunwind_there_is_one_line_and_stacks_by_libgcc(self):
        with tempfile.TemporaryDirectory() as folder:
            shim = os.path.join(folder, "libgpumemtrace.so")
            from recorded_run import SHIM

            with open(SHIM, "rb") as source, open(shim, "wb") as copy:
                copy.write(source.read())
            script = (
                "for library in $(ls /lib/*/libunwind.so.8 /usr/lib/*/libunwind.so.8 2>/dev/null); do "
                "mount --bind /dev/null $(readlink -f $library) || exit 99; done; "
                f"LD_PRELOAD={shim} exec {BUSY[0]} 1 20"
            )
            run = RecordedRun(["unshare", "-m", "bash", "-c", script], preload="")
            if run.code == 99 or "unshare" in run.err:
                self.skipTest("no mount namespace to be had here")
            self.check(run)

    def check(self, run):
        self.assertEqual((run.code, run.out), (0, "20\n"), run.err)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn("libgcc", run.err)
        self.assertTrue(any("libgcc" in note["text"] for note in run.records("note")))
        self.assertNotIn(0, {event["stack"] for event in run.records("event") if event["kind"] == Kind.ALLOC})


if __name__ == "__main__":
    tap.main()
