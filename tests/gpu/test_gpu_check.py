# SPDX-License-Identifier: MIT
"""scripts/gpu-check works without a GPU, and with the simulated device in place of a GPU."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import runner
import compare_ledger
import tap
from recorded_run import BUILD, SHIM, SIM_PYTHON

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions  # noqa: E402  (scripts/ is no package)

SCRIPT = os.path.join(SOURCE, "scripts", "gpu-check")

needs_torch = unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
is_long = unittest.skipUnless(os.environ.get("GMT_TEST_LONG"), "takes minutes: scripts/test --long")


def gpu_check(*arguments, script=SCRIPT, **variables):
    return subprocess.run(
        [script, *arguments], capture_output=True, text=True, timeout=1500, env={**os.environ, **variables}
    )


def verdicts(text):
    return re.findall(r"^(ok|FAILED|skipped|noted) ", text, re.M)


class OnTheSimulatedDevice(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        self.addCleanup(shutil.rmtree, self.folder)

    def place(self, name):
        return os.path.join(self.folder, name)

    def check(self, *arguments, script=SCRIPT, **variables):
        """Runs gpu-check on the simulated device. Returns the run and its summary."""
        run = gpu_check(
            "-o",
            self.place("printed.txt"),
            "--json",
            self.place("summary.json"),
            *arguments,
            script=script,
            **{
                "GPUMEMTRACE_CHECK_DEVICE": BUILD,
                "GPUMEMTRACE_CHECK_BUILD": BUILD,
                "TMPDIR": self.folder,
                "GPUMEMTRACE_CHECK_SECONDS": "1500",
                **variables,
            },
        )
        return run, self.summary()

    def summary(self):
        with open(self.place("summary.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_found(self, run, pattern):
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertRegex(run.stdout, re.compile("^FAILED +" + pattern, re.M))


def failed_sections(summary):
    return {
        section["name"]
        for section in summary["sections"]
        if any(check["verdict"] == "FAILED" for check in section["checks"])
    }


def figures(summary, name, part):
    """Returns the figures of the checks whose text contains `part`."""
    return [
        check.get("figures", {})
        for section in summary["sections"]
        if section["name"] == name
        for check in section["checks"]
        if part in check["what"]
    ]


class Sections(OnTheSimulatedDevice):
    @needs_torch
    def test_all_checks_pass(self):
        run, summary = self.check(GPUMEMTRACE_CHECK_SCRIPTS="convnet.py")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(self.place("printed.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), run.stdout)
        counts = {verdict: verdicts(run.stdout).count(verdict) for verdict in ("ok", "FAILED", "skipped", "noted")}
        self.assertEqual(summary["counts"], counts)
        # The simulated device supports everything.
        self.assertEqual((summary["schema"], counts["FAILED"], counts["skipped"]), ("gpumemtrace.gpu-check/1", 0, 0))
        self.assertEqual(len(summary["sections"]), 7)
        self.assertEqual(
            [
                section["name"]
                for section in summary["sections"]
                if not any(check["verdict"] == "ok" for check in section["checks"])
            ],
            [],
        )

        routes = figures(summary, "Every hooked function, by every route", "exact event")
        self.assertEqual(len(routes), 9)
        self.assertEqual(max(route["functions"] for route in routes), len(cuda_functions.wrapped_rows()))
        self.assertGreater(min(route["events"] for route in routes), 100)
        for row in figures(summary, "The ledger", "unexplained"):
            self.assertEqual((row["unexplained_bytes"], sum(row["lines"].values())), (0, row["used_bytes"]))
        for row in figures(summary, "Stream captures", "as often as it may"):
            self.assertEqual(row["spoilt"], 0)
            self.assertGreater(row["samples"], 10)

    def test_a_row_with_a_wrong_version_is_found(self):
        tree = self.place("tree")
        for part in ("scripts", "tests", "preload", "simcuda", "src"):
            shutil.copytree(os.path.join(SOURCE, part), os.path.join(tree, part))
        path = os.path.join(tree, "preload", "hooks", "driver_hooks.def")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("cuMemAllocPitch_v2, cuMemAllocPitch, 3020"), 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                text.replace("cuMemAllocPitch_v2, cuMemAllocPitch, 3020", "cuMemAllocPitch_v2, cuMemAllocPitch, 12000")
            )
        run, _ = self.check("--only", "pointers", script=os.path.join(tree, "scripts", "gpu-check"))
        self.assert_found(
            run,
            r"cuGetProcAddress_v2 gives the exported function of the row.*cuMemAllocPitch of 11999, flags 0 is "
            "cuMemAllocPitch_v2, by the rows cuMemAllocPitch",
        )

    def test_an_older_driver_without_some_functions_is_no_fault(self):
        folder = self.place("older")
        shutil.copytree(
            os.path.join(BUILD, "simcuda"),
            os.path.join(folder, "simcuda"),
            ignore=lambda _, names: [name for name in names if ".so" not in name],
        )
        driver = os.path.join(folder, "simcuda", "libcuda.so.1")
        with open(driver, "rb") as file:
            library = file.read()
        with open(driver, "wb") as file:
            file.write(library.replace(b"cuGraphAddNode_v3\0", b"cuGraphAddNodeX__\0"))
        run, summary = self.check("--only", "pointers,calls", GPUMEMTRACE_CHECK_DEVICE=folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, "noted +hooked functions that this driver does not have: cuGraphAddNode_v3\n")
        self.assertRegex(run.stdout, "skipped +not supported here: not there: cuGraphAddNode_v3\n")
        self.assertEqual(summary["counts"]["skipped"], 1)

    def broken_build(self, old, new):
        """Makes a build folder whose recorder lacks one name."""
        folder = self.place("broken")
        os.makedirs(os.path.join(folder, "preload"))
        os.symlink(os.path.join(BUILD, "tools"), os.path.join(folder, "tools"))
        with open(SHIM, "rb") as file:
            library = file.read()
        self.assertIn(old, library)
        with open(os.path.join(folder, "preload", os.path.basename(SHIM)), "wb") as file:
            file.write(library.replace(old, new))
        return folder

    def test_a_recorder_without_one_of_the_hooks_is_found(self):
        build = self.broken_build(b"cuMemRelease\0", b"cuMemReleasX\0")
        run, summary = self.check("--only", "pointers,calls", GPUMEMTRACE_CHECK_BUILD=build)
        self.assert_found(run, r"dlsym gives the recorder's wrapper of each.*cuMemRelease: driver, cuMemRelease")
        self.assert_found(run, r"cuGetProcAddress gives the recorder's wrapper.*cuMemRelease of 10020, flags 0")
        self.assert_found(run, r"each function is one exact event, by dlsym")
        self.assertEqual(len(failed_sections(summary)), 2)


@needs_torch
@is_long
class Builds(OnTheSimulatedDevice):
    def test_all_checks_pass_if_built_with_meson_or_only_the_compiler(self):
        for without, route in (("", "built with Meson"), ("meson", "alone")):
            run, summary = self.check(GPUMEMTRACE_CHECK_WITHOUT=without, GPUMEMTRACE_CHECK_BUILD="")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn(route, run.stdout)
            self.assertEqual(summary["counts"]["FAILED"], 0)
            self.assertGreater(summary["counts"]["ok"], 60)

    def test_kept_recordings_are_compared_on_another_machine_and_a_wrong_count_is_found(self):
        kept = self.place("kept")
        run, summary = self.check("--keep", kept, GPUMEMTRACE_CHECK_WITHOUT="meson libdw", GPUMEMTRACE_CHECK_BUILD="")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("the CLI cannot be", run.stdout)
        self.assertGreater(summary["counts"]["skipped"], 15)

        run = gpu_check("--compare", kept, GPUMEMTRACE_CHECK_BUILD=BUILD, TMPDIR=self.folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(set(verdicts(run.stdout)), {"ok", "noted"})
        self.assertEqual(run.stdout.count("each function is one exact event"), 9)
        self.assertEqual(run.stdout.count("equals PyTorch's own counts"), 7)  # there is one device

        printed = os.path.join(kept, "convnet.json")
        with open(printed, encoding="utf-8") as file:
            counts = json.load(file)
        counts["devices"][0]["max_memory_allocated"] += 512
        with open(printed, "w", encoding="utf-8") as file:
            json.dump(counts, file)
        run = gpu_check("--compare", kept, GPUMEMTRACE_CHECK_BUILD=BUILD, TMPDIR=self.folder)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertRegex(run.stdout, r"FAILED +convnet.py .* peak: recorded \d+, PyTorch says \d+")
        self.assertEqual(verdicts(run.stdout).count("FAILED"), 1)


class Judgement(unittest.TestCase):
    def verdict(self, unexplained, known=True, managed=0, used=None):
        lines = [
            {"name": name, "bytes": size, "known": known}
            for name, size in (("device", 1000), ("runtime", 0), ("other_processes", 0), ("unexplained", unexplained))
        ]
        table = runner.Table()
        with contextlib.redirect_stdout(io.StringIO()):
            table.section("one")
            compare_ledger.judge_unexplained(
                table,
                "what",
                {
                    "lines": lines,
                    "used_bytes": 1000 + unexplained if used is None else used,
                    "total_bytes": 100000,
                    "moved": False,
                    "managed_bytes": managed,
                },
            )
        (check,) = table.sections[0]["checks"]
        return check["verdict"], check["detail"]

    def test_less_than_a_hundredth_of_the_device_may_be_unexplained(self):
        self.assertEqual(self.verdict(999)[0], "ok")
        self.assertEqual(self.verdict(1000)[0], "FAILED")
        self.assertEqual(self.verdict(-1000)[0], "FAILED")

    def test_more_may_be_unexplained_with_a_reported_reason(self):
        self.assertIn("managed memory", self.verdict(1500, managed=1500)[1])
        self.assertEqual(self.verdict(1500, managed=1500)[0], "ok")
        self.assertEqual(self.verdict(1501, managed=1500)[0], "FAILED")
        self.assertIn("NVML", self.verdict(5000, known=False)[1])
        self.assertEqual(self.verdict(-5000, known=False)[0], "FAILED")

    def test_lines_that_do_not_add_up_are_found(self):
        self.assertEqual(self.verdict(10, used=2000)[0], "FAILED")


@unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU")
class WithoutGpu(unittest.TestCase):
    def test_without_a_gpu_it_prints_one_line_and_exits_with_77(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = os.path.join(folder, "printed.txt")
            run = gpu_check("-o", printed, GPUMEMTRACE_CHECK_DEVICE="")
            self.assertEqual((run.returncode, run.stderr), (77, ""))
            self.assertRegex(run.stdout, r"\A[^\n]*there is no NVIDIA GPU[^\n]*\n\Z")
            with open(printed, encoding="utf-8") as file:
                self.assertIn("there is no NVIDIA GPU", file.read())

    def test_a_wrong_argument_is_a_usage_error(self):
        for arguments in (["--no-such-option"], ["--only", "pointers,no-such-section"], ["--json"]):
            run = gpu_check(*arguments)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1), arguments)


if __name__ == "__main__":
    tap.main()
