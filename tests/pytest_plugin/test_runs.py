# SPDX-License-Identifier: MIT
"""The pytest plugin with xdist, forked tests, JUnit files, unittest, async tests, PyTorch, and other Pythons."""

import importlib.util
import os
import subprocess
import unittest

import tap
from project import BUILD, ENVIRONMENT, SETUP, SOURCE, Project, needs_pytest, site_packages, table

SIM_PYTHON = os.environ.get("GMT_TEST_SIM_PYTHON")
MIXED = """
import asyncio
import unittest

def test_plain():
    work(4 * MiB)

@pytest.mark.limit_gpu_leaks("0 B", warmups=1)
def test_leaks():
    print("printed")
    kept.append(malloc(100))

@pytest.mark.parametrize("size_bytes", [KiB, MiB])
@pytest.mark.limit_gpu_memory("100 KiB")
def test_parameters(size_bytes):
    work(size_bytes)

class Old(unittest.TestCase):
    @pytest.mark.limit_gpu_leaks("0 B", warmups=2)
    def test_old_leaks(self):
        kept.append(malloc(7))

    @pytest.mark.limit_gpu_leaks("0 B", warmups=2)
    def test_old(self):
        work(8)

@pytest.mark.asyncio
@pytest.mark.limit_gpu_leaks("0 B", warmups=1)
async def test_async_leaks():
    await asyncio.sleep(0)
    kept.append(malloc(9))

@pytest.mark.xfail(strict=True)
@pytest.mark.limit_gpu_memory(0)
def test_expected():
    work(KiB)

def test_skipped():
    pytest.skip("not here")

def test_without():
    pass
"""
LEAVES = {"test_leaks": 200, "test_old_leaks": 21, "test_async_leaks": 18}
PEAKS = {
    **LEAVES,
    "test_plain": 6 << 20,
    "test_parameters[1024]": 1536,
    "test_parameters[1048576]": 3 << 19,
    "test_old": 12,
    "test_expected": 1536,
}
BROKEN = {"test_leaks", "test_parameters[1048576]", "Old::test_old_leaks", "test_async_leaks"}


def interpreters():
    """Returns {minor version: path} of the Pythons of this machine."""
    path = os.path.join(SOURCE, "tests", "preload", "python", "run.py")
    spec = importlib.util.spec_from_file_location("find_pythons", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done = subprocess.run([os.path.join(SETUP, "newer-pythons")], capture_output=True, text=True)
    os.environ.setdefault("GMT_TEST_PYTHONS", ":".join(done.stdout.split()))
    return {minor: path for path, minor, _ in module.find()}


@needs_pytest
class Runs(Project):
    def check_mixed(self, output):
        self.assertIn("4 failed, 4 passed, 1 skipped, 1 xfailed", output)
        for test in BROKEN:
            self.assertRegex(output, rf"(?m)^FAILED test_project\.py::{test.replace('[', '.').replace(']', '.')}")
        self.assertEqual(table(output)["test_project.py::test_plain"], ("6.00 MiB", "0 B", 2))
        self.assertEqual(table(output)["test_project.py::test_leaks"], ("200 B", "200 B", 2))

    def check_junit(self, path, names):
        found = self.junit(path)
        for test in names:
            numbers = {name: int(value) for name, value in found[test].items()}
            self.assertEqual(numbers["gpumemtrace_peak_bytes"], PEAKS.get(test, 0), test)
            self.assertEqual(numbers["gpumemtrace_left_bytes"], LEAVES.get(test, 0), test)

    def test_tests_of_all_kinds_in_one_process(self):
        self.write_tests(MIXED)
        output = self.record("--junitxml=j.xml", "--gpumemtrace-most-allocations=0", code=1)
        self.check_mixed(output)
        self.assertEqual(output.count("printed"), 2, "output of warmups belongs to the test")
        self.check_junit("j.xml", [*PEAKS, "test_without"])

    def test_two_workers_of_xdist(self):
        self.write_tests(MIXED)
        output = self.record("-n", "2", "--junitxml=j.xml", "--gpumemtrace-most-allocations=0", code=1)
        self.check_mixed(output)
        self.check_junit("j.xml", PEAKS)
        self.assertEqual(self.left_behind(), [])

    def test_a_wrong_limit_fails_its_test_in_a_worker(self):
        self.write_tests("@pytest.mark.limit_gpu_memory('x')\ndef test_wrong(): pass\n\ndef test_right(): pass\n")
        output = self.record("-n", "1", code=1)
        self.assertIn("1 failed, 1 passed", output)
        self.assertIn("test_project.py::test_wrong: marker limit_gpu_memory: 'x' is not a size", output)

    def test_python_3_9_with_each_test_in_a_forked_child(self):
        python = interpreters().get("3.9")
        if not python:
            self.skipTest("no Python 3.9 on this machine")
        self.write_tests(MIXED)
        path = ":".join([os.path.join(SOURCE, "python"), self.folder, os.path.join(ENVIRONMENT, "python-3.9")])
        more = {"python": python, "PYTHONPATH": path}
        options = ["--junitxml=j.xml", "--gpumemtrace-most-allocations=0"]
        self.check_mixed(self.record(*options, code=1, **more))
        self.check_mixed(self.record(*options, "--forked", code=1, **more))
        self.check_junit("j.xml", PEAKS)

    def test_python_3_15(self):
        python = interpreters().get("3.15")
        if not python:
            self.skipTest("no Python 3.15: run scripts/setup/newer-pythons")
        self.write_tests(MIXED)
        path = ":".join([os.path.join(SOURCE, "python"), self.folder, site_packages()])
        options = ["--gpumemtrace-most-allocations=0"]
        self.check_mixed(self.record(*options, code=1, python=python, PYTHONPATH=path))

    def test_a_test_that_runs_several_times_is_judged_each_time(self):
        self.write(
            "conftest.py",
            "from _pytest.runner import runtestprotocol\n"
            "def pytest_runtest_protocol(item, nextitem):\n"
            "    for _ in range(3):\n"
            "        runtestprotocol(item, nextitem=nextitem)\n"
            "    return True\n",
        )
        self.write_tests("""
            @pytest.mark.limit_gpu_memory(0)
            def test_again():
                if len(kept) == 1:
                    free(malloc(5))
                kept.append(0)
        """)
        output = self.record(code=1)
        self.assertIn("1 failed, 2 passed", output)
        self.assertIn("was 5 B above its start", output)

    def test_names_of_any_length_and_letters(self):
        self.write_tests("""
            names = ["x" * 400 + "1", "x" * 400 + "2", "\\u00e9\\u4e2d" * 150, "a b\\tc"]

            @pytest.mark.limit_gpu_memory(0)
            @pytest.mark.parametrize("name", names, ids=names)
            def test_name(name):
                if name == names[1] or name == names[2]:
                    free(malloc(5))
        """)
        output = self.record("--gpumemtrace-most-allocations=0", code=1)
        self.assertIn("2 failed, 2 passed", output)
        self.assertEqual(len(table(output)), 2)

    def test_a_child_process_of_a_test_does_not_disturb_it(self):
        self.write_tests("""
            import subprocess, sys

            @pytest.mark.limit_gpu_memory("1 KiB")
            def test_child():
                subprocess.run([sys.executable, "-c", "import cuda; cuda.malloc(1 << 20)"], check=True)
                free(malloc(100))
        """)
        self.assertEqual(table(self.record(code=0)), {"test_project.py::test_child": ("100 B", "0 B", 1)})

    def test_a_pytest_inside_of_a_test_keeps_the_folder(self):
        self.write("inner/test_inner.py", "import cuda\ndef test_inner(): cuda.free(cuda.malloc(3))\n")
        self.write_tests("""
            import subprocess, sys

            def test_outer():
                words = ["-m", "pytest", "-p", "gpumemtrace.pytest_plugin", "--gpumemtrace", "inner"]
                done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
                assert "3 B" in done.stdout
                free(malloc(100))
        """)
        self.assertEqual(table(self.record("test_project.py", code=0))["test_project.py::test_outer"][0], "100 B")


@needs_pytest
@unittest.skipUnless(SIM_PYTHON, "needs PyTorch on the simulated device: run scripts/test")
class Torch(Project):
    def record_torch(self, *arguments, code):
        def last_line(*words):
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

        python = last_line(os.path.join(SETUP, "python"))
        return self.record(
            *arguments,
            code=code,
            python=python,
            PYTHONPATH=":".join([os.path.join(SOURCE, "python"), self.folder, site_packages()]),
            LD_LIBRARY_PATH=last_line(os.path.join(SETUP, "stubs"), BUILD),
        )

    def test_numbers_are_those_of_pytorchs_allocator_and_segments_do_not_count(self):
        self.write(
            "test_torch.py",
            """
            import pytest
            import torch

            losses = []

            def train(model, keep):
                loss = model(torch.randn(64, 256, device="cuda")).sum()
                loss.backward()
                model.zero_grad(set_to_none=True)
                if keep:
                    losses.append(loss.detach())

            @pytest.fixture
            def model():
                return torch.nn.Linear(256, 256).cuda()

            @pytest.mark.limit_gpu_leaks("0 B", warmups=1)
            def test_good(model):
                train(model, False)

            @pytest.mark.limit_gpu_leaks("0 B", warmups=1)
            def test_keeps(model):
                train(model, True)

            @pytest.mark.limit_gpu_memory("1 MiB")
            def test_small():
                torch.empty(1000, device="cuda")

            @pytest.mark.limit_gpu_memory("1 MiB", layer="cuda")
            def test_segments():
                torch.empty(100, 1024, 1024, device="cuda")
                torch.cuda.empty_cache()

            def test_numbers(gpu_memory):
                torch.empty(1000, 1000, device="cuda")
                assert gpu_memory.live_bytes == torch.cuda.memory_allocated()
                torch.cuda.reset_peak_memory_stats()
                with gpu_memory.measure() as measured:
                    a = torch.empty(1000, 1000, device="cuda")
                    b = a * 2
                    del a
                assert measured.peak_bytes == torch.cuda.max_memory_allocated()
                assert measured.usage(layer="torch").live_bytes == torch.cuda.memory_allocated()
                assert measured.usage(layer="cuda").live_bytes == torch.cuda.memory_reserved()
                assert measured.left_bytes == -(-b.nbytes // 512) * 512
            """,
        )
        output = self.record_torch(code=1)
        self.assertIn("2 failed, 3 passed", output)
        self.assertIn(
            "gpumemtrace: The test left 512 B on GPU 0. The limit is 0 B (limit_gpu_leaks).\n"
            "      512 B  test_torch.py:8 in train  (1 block)\n"
            "             called at test_torch.py:24 in test_keeps\n",
            output,
        )
        self.assertIn("peak on GPU 0 in layer cuda was 400 MiB (419,430,400 bytes) above its start", output)


if __name__ == "__main__":
    tap.main()
