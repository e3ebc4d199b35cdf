# SPDX-License-Identifier: MIT
"""doctor: its answers about machines and commands. Each test makes the cause of a verdict."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap
from elf_file import OWN_MACHINE, elf
from recorded_run import CLI, SHIM, SIMCUDA, SOURCE, built

BUSY = built("busy-threads")
FOREIGN_MACHINES = {62: (183, "aarch64"), 183: (62, "x86-64")}
LEFT_OUT = re.compile(r"LD_|GPUMEMTRACE_|PYTORCH_|CUDA_|NVTX_|ASAN_|NO_COLOR|CLICOLOR")
PLAIN = {key: value for key, value in os.environ.items() if not LEFT_OUT.match(key)}
# A build with the address sanitizer would refuse to start, because the recorder is loaded before it.
PLAIN["ASAN_OPTIONS"] = "verify_asan_link_order=0"


def read(*parts):
    with open(os.path.join(SOURCE, *parts), encoding="utf-8") as file:
        return file.read()


def own_interpreter():
    with open(CLI, "rb") as file:
        return re.search(rb"/[\w./-]*ld-linux[\w.-]*", file.read()).group().decode()


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-doctor-test.")
        self.addCleanup(shutil.rmtree, self.folder)

    def place(self, name, content=None, mode=0o755):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            os.chmod(path, mode)
        return path

    def copy(self, source, name):
        path = self.place(name)
        shutil.copy(source, path)
        return path

    def run_doctor(self, *arguments, cli=CLI, libraries=SIMCUDA, **variables):
        more = {"preexec_fn": variables.pop("preexec_fn")} if "preexec_fn" in variables else {}
        return subprocess.run(
            [cli, "doctor", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            env={**PLAIN, "LD_LIBRARY_PATH": libraries, **variables},
            **more,
        )

    def judge(self, *command, options=(), **more):
        done = self.run_doctor("--json", *options, *(["--", *command] if command else []), **more)
        result = json.loads(done.stdout)
        checks = {row["id"]: row for row in result["checks"]}
        has_problem = any(row["verdict"] == "problem" for row in checks.values())
        self.assertEqual((done.returncode, result["can_be_recorded"]), (int(has_problem), not has_problem), done.stderr)
        for row in checks.values():
            self.assertEqual(row["remedy"] is None, row["verdict"] == "ok", row)
            self.assertNotIn("\n", row["finding"] + (row["remedy"] or ""))
        self.result = result
        return checks

    def check(self, checks, name, verdict, *words):
        self.assertIn(name, checks)
        self.assertEqual(checks[name]["verdict"], verdict, checks[name])
        for word in words:
            self.assertIn(word, checks[name]["finding"])

    # Programs that can be recorded

    def test_a_program_on_the_simulated_device_can_be_recorded_with_the_shown_command(self):
        checks = self.judge(BUSY, "1", "a b")
        self.assertEqual({row["verdict"] for row in checks.values()}, {"ok"}, checks)
        self.check(checks, "recorder_found", "ok", os.path.realpath(SHIM))
        self.check(checks, "driver_starts", "ok", "device is simulated")
        self.check(checks, "calls_reach", "ok", "with dlsym and with cuGetProcAddress")
        self.check(checks, "command_cuda", "ok", "linked to libcudart.so.13")
        self.assertEqual(self.result["devices"], [{"device": 0, "name": "Simulated GPU", "total_bytes": 80 << 30}])
        self.assertEqual(self.result["next"], f"gpumemtrace run -- {BUSY} 1 'a b'")
        self.assertEqual(self.result["counts"]["ok"], len(checks))
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_a_command_only_the_machine_is_judged(self):
        checks = self.judge()
        self.assertFalse({row["section"] for row in checks.values()} - {"recorder", "environment", "driver", "space"})
        self.assertEqual((self.result["command"], self.result["next"]), (None, "gpumemtrace run -- python train.py"))

    def test_a_runtime_inside_of_the_program_is_seen(self):
        self.check(self.judge(built("snippets-static")), "command_cuda", "ok", "static CUDA runtime")

    def test_the_command_is_not_run_unless_asked(self):
        script = self.place("touch.sh", f"#!/bin/sh\necho said; echo > {self.folder}/touched\nexec {BUSY} 1 10\n")
        self.assertNotIn("recording", self.judge(script))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "touched")))
        self.check(self.judge(script, options=["--run"]), "recording", "ok", "1 file, 2", " events, with native stacks")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "touched")))

    def test_a_trial_run_leaves_no_file_and_reports_if_nothing_was_recorded(self):
        trials = self.place("trials/x", "")
        os.unlink(trials)
        checks = self.judge("true", options=["--run"], TMPDIR=os.path.dirname(trials))
        self.check(checks, "recording", "problem", "did not use CUDA (exit code 0)")
        checks = self.judge(
            BUSY, "1", "10", options=["--run"], TMPDIR=os.path.dirname(trials), GPUMEMTRACE_OPTIONS="stacks=none"
        )
        self.check(checks, "recording", "ok", "without native stacks")
        self.assertEqual(os.listdir(os.path.dirname(trials)), [])

    # The recorder

    def test_a_recorder_that_is_missing_or_of_another_machine_is_a_problem(self):
        alone = self.copy(CLI, "alone/bin/gpumemtrace")
        checks = self.judge(cli=alone)
        self.check(checks, "recorder_found", "problem", "libgpumemtrace.so was not found")
        self.assertIn(f"next to {os.path.dirname(alone)}", checks["recorder_found"]["remedy"])
        foreign, _ = FOREIGN_MACHINES[OWN_MACHINE]
        self.place("alone/bin/libgpumemtrace.so", elf(foreign))
        checks = self.judge("true", cli=alone)
        self.check(checks, "recorder_loads", "problem", "cannot be preloaded")
        self.check(checks, "command_loads", "problem", "does not load the recorder")

    def test_a_recorder_that_driver_calls_do_not_reach_is_a_problem(self):
        alone = self.copy(CLI, "alone/bin/gpumemtrace")
        self.copy(built("libgetenv-behind.so"), "alone/bin/libgpumemtrace.so")
        checks = self.judge(cli=alone)
        self.check(checks, "recorder_loads", "ok")
        self.check(checks, "calls_reach", "problem", "dlsym finds cuMemAlloc_v2 in", "libcuda.so.1")

    # The command

    def test_a_missing_command_is_one_line(self):
        for word, said in ("no-such-program", "not found in PATH"), ("./none", "no such file"), ("", "not found"):
            checks = self.judge(word)
            self.check(checks, "command_found", "problem", said)
            self.assertEqual([name for name in checks if checks[name]["section"] == "command"], ["command_found"])
        self.check(self.judge(self.folder), "command_found", "problem", "is a folder")
        self.check(self.judge(self.place("plain.py", "text", 0o644)), "command_found", "problem", "may not be executed")

    def test_programs_into_which_nothing_can_be_loaded_are_a_problem(self):
        foreign, name = FOREIGN_MACHINES[OWN_MACHINE]
        for what, content, row, said in (
            ("static", elf(), "command_linker", "linked statically"),
            ("musl", elf(interpreter="/lib/ld-musl-x86_64.so.1"), "command_linker", "linked to musl"),
            ("gone", elf(interpreter="/no/ld-linux-x86-64.so.2"), "command_linker", "does not exist"),
            ("foreign", elf(foreign, interpreter="/lib/ld.so"), "command_format", name),
            ("small", elf(3, bits=32), "command_format", "32 bits, x86 (32 bits)"),
            ("turned", elf(21, order=">"), "command_format", "64 bits, POWER"),
            ("cut", elf(interpreter="/lib/ld.so")[:130], "command_format", "incomplete or damaged"),
            ("other", b"MZ\0\0no ELF", "command_format", "is not an ELF program"),
        ):
            with self.subTest(what):
                checks = self.judge(self.place(what, content))
                self.check(checks, row, "problem", said)
                self.assertNotIn("command_loads", checks)
                self.assertEqual(self.result["next"], f"gpumemtrace doctor -- {self.folder}/{what}")

    def test_damaged_headers_end_in_a_verdict(self):
        whole = elf(interpreter="/lib/ld.so", needed=["libcudart.so.12", "libm.so.6"])
        for at in range(16, len(whole), 7):
            with self.subTest(at):
                checks = self.judge(self.place("damaged", whole[:at] + b"\xff\xfe\xff\x7f" + whole[at + 4 :]))
                self.assertIn(checks["command_format"]["verdict"], ("ok", "problem"))

    def test_a_program_with_more_rights_than_its_caller_is_a_problem(self):
        program = self.copy(BUSY, "rights")
        try:
            os.chown(program, os.getuid() + 1, -1)
        except PermissionError:
            self.skipTest("only root may give a file away")
        self.check(self.judge(program), "command_rights", "ok")
        os.chmod(program, 0o4755)
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            self.check(self.judge(program), "command_rights", "ok", "has no effect here")
        else:
            self.check(self.judge(program), "command_rights", "problem", "set-uid")
        os.chown(program, os.getuid(), os.getgid() + 1)
        os.chmod(program, 0o2755)
        if not os.statvfs(program).f_flag & os.ST_NOSUID:
            self.check(self.judge(program), "command_rights", "problem", "set-gid")

    def test_scripts_are_followed_to_their_program(self):
        inner = self.place("inner", "#!/bin/sh -e\n")
        outer = self.place("outer", f"#!/usr/bin/env -S A=1 {inner} x\n")
        chain = f"{outer}, /usr/bin/env, {inner}, /bin/sh"
        checks = self.judge(outer)
        self.check(checks, "command_starts", "ok", chain)
        self.check(checks, "command_found", "ok", "/bin/sh")
        self.check(self.judge(self.place("bare", "echo\n")), "command_starts", "ok", "bare, /bin/sh")
        self.check(self.judge("env", "-u", "A", "B=2", inner), "command_starts", "ok", f"env, {inner}, /bin/sh")
        broken = self.place("broken", "#!/no/such/python\n")
        self.check(self.judge(broken), "command_found", "problem", "/no/such/python does not exist")
        endless = self.place("endless", f"#!{self.folder}/endless\n")
        self.check(self.judge(endless), "command_found", "problem", "never a program")

    def test_a_command_that_removes_the_recorder_is_a_problem(self):
        for words in ["env", "-i", "true"], ["env", "-u", "LD_PRELOAD", "true"], ["env", "LD_PRELOAD=x", "true"]:
            self.check(self.judge(*words), "command_starts", "problem", "removes LD_PRELOAD from")
        checks = self.judge(self.copy("/bin/true", "docker"), "run", "image")
        self.check(checks, "command_starts", "problem", "in a container")
        self.assertNotIn("command_format", checks)
        self.check(self.judge(self.copy("/bin/true", "mpirun")), "command_starts", "warning", "other machines")

    def test_a_library_that_the_program_lacks_is_named(self):
        with open(BUSY, "rb") as file:
            program = self.place("lacking", file.read().replace(b"libcudart.so.13\0", b"libcudart.so.77\0"))
        self.check(self.judge(program), "command_loads", "problem", "libcudart.so.77", "will not start")

    def test_a_c_library_that_is_too_old_is_named(self):
        with open(BUSY, "rb") as file:
            program = self.place("newer", re.sub(rb"GLIBC_2(\.\d+\0)", rb"GLIBC_9\1", file.read()))
        self.check(self.judge(program), "command_loads", "problem", "version `GLIBC_9.", "not found (required by")

    def test_the_address_sanitizer_is_a_problem_unless_it_may_be_loaded_later(self):
        program = self.place("asan", elf(interpreter=own_interpreter(), needed=["libm.so.6", "libasan.so.8"]))
        self.check(self.judge(program, ASAN_OPTIONS=""), "command_sanitizer", "problem", "libasan.so.8")
        self.check(self.judge(program), "command_sanitizer", "ok", "libasan.so.8")

    # Python

    def ask_python(self, torch=None, **variables):
        if torch:
            self.place("site/torch/version.py", torch)
            self.place("site/torch/__init__.py", "raise SystemExit('imported')\n")
            self.place("site/torch-9.8.7.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 9.8.7+x\n")
            variables["PYTHONPATH"] = os.path.join(self.folder, "site")
        return self.judge(sys.executable, "train.py", **variables)

    def test_python_and_its_pytorch_are_found_without_an_import(self):
        version = ".".join(map(str, sys.version_info[:3]))
        self.place("sysconfig.py", "raise SystemExit('taken from the current folder')\n")
        checks = self.ask_python("__version__ = '9.8.7+x'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n")
        self.check(checks, "python_version", "ok", f"Python {version}")
        self.check(checks, "pytorch", "ok", "9.8.7+x, for CUDA 12.4")
        self.check(checks, "command_cuda", "ok", "extension modules")
        self.check(self.ask_python("cuda = None\nhip = None\n"), "pytorch", "warning", "built without CUDA")
        self.check(self.ask_python("cuda = None\nhip = '6.1'\n"), "pytorch", "problem", "ROCm 6.1")
        self.check(self.ask_python("cuda = '99.0'\n"), "driver_version", "warning", "PyTorch is built for CUDA 99.0")

    def test_a_script_in_pythons_name_leads_to_the_real_one(self):
        self.place("shims/python3", f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
        checks = self.judge("python3", PATH=f"{self.folder}/shims:{os.environ['PATH']}")
        self.check(checks, "command_found", "ok", sys.executable)
        self.check(checks, "python_version", "ok")

    def test_a_python_whose_frames_cannot_be_read_is_a_warning(self):
        fake = self.copy(built("doctor-python"), "python3")
        for said, verdict, words in (
            ("gmt:version=3.12.1;gmt:implementation=cpython;", "ok", "3.12.1"),
            ("gmt:version=3.8.10;gmt:implementation=cpython;", "warning", "3.8.10"),
            ("gmt:version=3.99.0;gmt:implementation=cpython;", "warning", "3.99.0"),
            ("gmt:version=2.7.18;gmt:implementation=cpython;", "warning", "2.7.18"),
            ("gmt:version=3.10.1;gmt:implementation=pypy;", "warning", "pypy"),
            ("gmt:version=3.13.1;gmt:implementation=cpython;gmt:free_threaded=1;", "warning", "without a GIL"),
            ("gmt:version=3.12.1;gmt:implementation=cpython;gmt:trace_refs=1;", "warning", "traces references"),
            ("nothing", "unknown", "did not answer"),
        ):
            self.check(self.judge(fake, DOCTOR_PYTHON=said), "python_version", verdict, words)

    def test_doctor_knows_the_python_versions_of_the_recorder(self):
        rows = re.findall(r"^GMT_PYTHON\( *(\d+)", read("preload", "python", "python_layout.def"), re.M)
        oldest, newest = re.search(
            r"OLDEST_MINOR = (\d+), NEWEST_MINOR = (\d+)", read("tools", "doctor", "doctor_python.c")
        ).groups()
        self.assertEqual([int(row) for row in rows], list(range(int(oldest), int(newest) + 1)))
        for place in (("tools", "doctor", "doctor_checks.def"), ("README.md",)):
            self.assertIn(f"3.{oldest} to 3.{newest}", " ".join(read(*place).split()))

    def test_settings_of_pytorchs_allocator_are_explained(self):
        for variables, verdict, words in (
            ({"PYTORCH_CUDA_ALLOC_CONF": "a:1, backend : cudaMallocAsync"}, "warning", "the layer `torch` stays empty"),
            ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "warning", "the layer `torch` stays empty"),
            ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, "ok", "page by page"),
            (
                {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64", "PYTORCH_CUDA_ALLOC_CONF": "x:1"},
                "ok",
                "PYTORCH_ALLOC_CONF=max",
            ),
        ):
            self.check(self.judge(**variables), "pytorch_allocator", verdict, words)
        self.assertNotIn("pytorch_allocator", self.judge())

    def test_for_a_script_with_an_arena_doctor_names_the_setting_that_opens_it(self):
        for text, variables, verdict, words, remedy in (
            (
                "import jax.numpy as jnp\n",
                {},
                "warning",
                "does not see blocks inside XLA's arena",
                "set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
            ),
            ("import jax\n", {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"}, "ok", "imports jax", None),
            (
                "def main():\n    from tensorflow import keras\n",
                {},
                "warning",
                "TensorFlow",
                "set TF_GPU_ALLOCATOR=cuda_malloc_async",
            ),
            (
                "import os\nos.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'\nimport tensorflow as tf\n",
                {},
                "ok",
                "imports tensorflow",
                None,
            ),
            ("import cupy as cp\n", {}, "warning", "CuPy", "call gpumemtrace.watch_cupy()"),
            ("import cupy, gpumemtrace\ngpumemtrace.watch_cupy()\n", {}, "ok", "imports cupy", None),
            (
                "import jax\nimport cupy\n",
                {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"},
                "warning",
                "imports cupy",
                "watch_cupy",
            ),
            ("import jax\n", {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}, "warning", "XLA", "cuda_async"),
        ):
            script = self.place("train.py", text)
            checks = self.judge(sys.executable, script, **variables)
            self.check(checks, "arenas", verdict, words)
            if remedy:
                self.assertIn(remedy, checks["arenas"]["remedy"])
        for text in "import jaxtyping\nfrom cupyx import x\n# import jax\n", "print('import jax')\n":
            self.assertNotIn("arenas", self.judge(sys.executable, self.place("train.py", text)))

    # The environment

    def test_doctor_and_recorder_report_the_same_wrong_options(self):
        for text in (
            "stacks=all:depth=5",
            "",
            "output='a:b.gz'",
            "stacks=foo",
            "depth=0",
            "nonsense=1",
            "quiet",
            "output='x.gz",
            "output=",
            "help=2",
            "::stacks=none",
            "=3",
        ):
            # Each run has its own output, so that an option that was not understood has no effect on it.
            done = subprocess.run(
                [BUSY, "1", "1"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=60,
                env={**PLAIN, "LD_LIBRARY_PATH": SIMCUDA, "LD_PRELOAD": SHIM, "GPUMEMTRACE_OPTIONS": text},
            )
            complains = "GPUMEMTRACE_OPTIONS" in done.stderr
            self.check(self.judge(GPUMEMTRACE_OPTIONS=text), "options", "warning" if complains else "ok")

    def test_other_preloaded_libraries_are_judged_by_what_they_are(self):
        def preload(*names, **variables):
            paths = [self.copy(built("libgetenv-behind.so"), name) for name in names]
            return self.judge(LD_PRELOAD=":".join(paths), **variables)

        self.check(self.judge(LD_PRELOAD=os.path.realpath(SHIM)), "preloads", "ok", "only the recorder")
        self.check(preload("libjemalloc.so.2", "libmine.so"), "preloads", "ok", "any order", "libmine.so")
        self.check(preload("libjemalloc.so.2", "libvgpu.so"), "preloads", "warning", "HAMi")
        self.check(preload("torch_memory_saver_hook.abi3.so"), "preloads", "warning", "mapped memory")
        for names in ["libvgpu.so", "libasan.so.8"], ["libasan.so.8", "libvgpu.so"]:
            self.check(preload(*names, ASAN_OPTIONS=""), "preloads", "problem", "sanitizer", "HAMi")
        self.assertIn(
            "verify_asan_link_order",
            self.judge(LD_PRELOAD=self.place("libasan.so.8"), ASAN_OPTIONS="")["preloads"]["remedy"],
        )
        self.check(preload("other/libgpumemtrace.so"), "preloads", "warning", "another copy")
        self.check(self.judge(LD_PRELOAD="/no/such.so"), "preloads", "warning", "does not exist")

    def test_a_recorder_in_the_environment_does_not_record_the_queries_of_doctor(self):
        self.judge(BUSY, LD_PRELOAD=SHIM)
        self.assertEqual(os.listdir(self.folder), [])

    def test_other_tools_and_their_settings_are_named(self):
        self.check(self.judge(LD_AUDIT="/no/audit.so"), "linker_switches", "warning", "/no/audit.so")
        self.check(self.judge(CUDA_INJECTION64_PATH="/no/tool.so"), "injections", "warning", "/no/tool.so")
        self.check(self.judge(NVTX_INJECTION64_PATH="/no/nvtx.so"), "injections", "ok", "/no/nvtx.so")

    # The driver

    def test_a_driver_that_cannot_be_opened_is_a_problem(self):
        self.place("driver/libcuda.so.1", "no library")
        checks = self.judge(BUSY, libraries=os.path.join(self.folder, "driver"))
        self.check(checks, "driver_found", "problem", "libcuda.so.1")
        self.assertEqual(self.result["devices"], [])

    def test_the_result_of_cuinit_is_explained(self):
        self.copy(built("libbroken-driver.so"), "driver/libcuda.so.1")
        libraries = os.path.join(self.folder, "driver")
        for answer, words in (
            ("100", "CUDA_ERROR_NO_DEVICE: no device is visible"),
            ("803", "different versions"),
            ("34", "the toolkit's stub"),
            ("12345", "cuInit returns error 12345"),
            ("crash", "crashes"),
        ):
            checks = self.judge(libraries=libraries, DOCTOR_INIT=answer)
            self.check(checks, "driver_starts", "problem", words)
            self.assertNotIn("devices", checks)
        checks = self.judge(libraries=libraries)
        self.check(checks, "driver_version", "warning", "CUDA 11.2: older than 11.3")
        self.check(checks, "calls_reach", "ok", "with dlsym")

    def test_a_driver_that_never_returns_is_a_problem_and_does_not_block_doctor(self):
        self.copy(built("libbroken-driver.so"), "driver/libcuda.so.1")
        checks = self.judge(libraries=os.path.join(self.folder, "driver"), DOCTOR_INIT="hang")
        self.check(checks, "driver_starts", "problem", "did not return within")

    def test_the_results_of_cuinit_have_the_numbers_of_the_driver(self):
        names = re.findall(r"ERROR_(?:BOTH|DRIVER)\((\w+)", read("simcuda", "errors.def"))
        rows = re.findall(r"^GMT_CUDA_ERROR\((\d+), (\w+)", read("tools", "doctor", "doctor_cuda_errors.def"), re.M)
        self.assertGreater(len(rows), 8)
        self.assertLessEqual({name for _, name in rows}, set(names))

    def test_no_device_is_a_problem(self):
        checks = self.judge(SIMCUDA_DEVICES="0", CUDA_VISIBLE_DEVICES="-1")
        failing = {name for name, row in checks.items() if row["verdict"] == "problem"}
        self.assertTrue(failing & {"devices", "driver_starts"}, checks)

    # Room

    def test_an_output_that_cannot_be_written_is_a_problem(self):
        plain = self.place("plain", "text", 0o644)
        self.check(
            self.judge(GPUMEMTRACE_OPTIONS=f"output={plain}/%p.gz"), "output_folder", "problem", "is not a folder"
        )
        self.check(self.judge(GPUMEMTRACE_OPTIONS="output=%z.gz"), "output_name", "problem", "%z")
        self.check(self.judge(GPUMEMTRACE_OPTIONS="output=%p.%"), "output_name", "problem")
        self.check(self.judge(GPUMEMTRACE_OPTIONS="output=/dev/null"), "output_name", "problem", "is a device")
        self.check(
            self.judge(GPUMEMTRACE_OPTIONS=f"output={self.folder}/a/b/%q{{HOME}}%%/%p.gz"),
            "output_folder",
            "ok",
            f"{self.folder}, where the recorder creates the missing folders",
        )

    def test_a_limit_on_files_is_a_warning(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

        self.check(self.judge(preexec_fn=limit), "limits", "warning", "1.00 MiB", "ulimit -f")

    # Forms of the output

    def test_the_text_has_a_line_for_each_check_and_a_remedy_for_each_problem(self):
        checks = self.judge("no-such-program", PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        done = self.run_doctor("--", "no-such-program", PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        rows = re.findall(r"^  (ok|warning|problem|unknown) +(\w+) +(.*)$", done.stdout, re.M)
        self.assertEqual(
            {(verdict, name) for verdict, name, _ in rows}, {(row["verdict"], name) for name, row in checks.items()}
        )
        self.assertEqual(done.stdout.count(" do: "), 2)
        self.assertIn("\nthis command cannot be recorded: 1 problem, 1 warning\n", done.stdout)
        self.assertTrue(done.stdout.endswith("next: solve the problems, then gpumemtrace doctor -- no-such-program\n"))

    def test_colours_are_only_for_terminals_and_no_text_controls_the_terminal(self):
        self.assertNotIn("\x1b", self.run_doctor("--", "no\x1b[31m").stdout)
        self.assertIn("no?[31m", self.run_doctor("--", "no\x1b[31m").stdout)
        self.assertIn("\x1b[", self.run_doctor("--color=always").stdout)

    def test_a_wrong_option_is_a_mistake(self):
        done = self.run_doctor("--jsn")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("did you mean `--json`?", done.stderr)

    def test_every_check_and_every_key_is_documented_and_no_other(self):
        page = read("docs", "doctor.md")
        ids = re.findall(r"^GMT_DOCTOR_CHECK\(\w+, (\w+),", read("tools", "doctor", "doctor_checks.def"), re.M)
        self.assertGreater(len(ids), 30)
        self.assertEqual(re.findall(r"^\| `(\w+)` \| [A-Z]", page, re.M), ids)
        self.judge(BUSY)
        for item in self.result, self.result["checks"][0], self.result["devices"][0]:
            for key in item:
                self.assertIn(f"`{key}`", page)


if __name__ == "__main__":
    tap.main()
