# SPDX-License-Identifier: MIT
"""Compares the hooks with the headers of each installed CUDA version, and tests this comparison."""

import dataclasses
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import unittest

import tap
import runtimes
from runtimes import SOURCE, cuda_functions

PRELOAD = os.path.join(SOURCE, "preload")
SCRIPT = os.path.join(SOURCE, "scripts", "check-hooks")


def load_script():
    loader = importlib.machinery.SourceFileLoader("check_hooks", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_hooks", loader))
    loader.exec_module(module)
    return module


check_hooks = load_script()


def headers(name):
    return [os.path.join(folder, "include", name) for folder in runtimes.folders().values()]


def check(*paths):
    done = subprocess.run([SCRIPT, *paths], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def with_line(name, line):
    """Copies the folder of the newest header of that name, and adds a function to the header."""
    newest = headers(name)[-1]
    folder = os.path.join(runtimes.folder(), f"header-{len(os.listdir(runtimes.folder()))}")
    shutil.copytree(
        os.path.dirname(newest),
        folder,
        symlinks=True,
        ignore=lambda _, names: [one for one in names if one.startswith(("cooperative", "cuda_fp"))],
    )
    with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    return os.path.join(folder, name)


def units_with_cuda():
    """Returns the recorder's files that include CUDA's headers."""
    found = []
    for folder, _, names in os.walk(PRELOAD):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                if name.endswith(".c") and any(
                    line.startswith(("#include <cuda", '#include "wrappers/wrapper.h"')) for line in file
                ):
                    found.append(path)
    return found


def compile_with(version, *arguments):
    return subprocess.run(
        [
            runtimes.CC,
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-fno-strict-aliasing",
            "-Wall",
            "-Wextra",
            "-Wmissing-prototypes",
            "-Werror",
            "-isystem",
            os.path.join(runtimes.folders()[version], "include"),
            "-I",
            PRELOAD,
            "-I",
            os.path.join(SOURCE, "src"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )


@unittest.skipUnless(runtimes.folders(), "no headers here: scripts/setup/cuda-runtimes fetches them")
class Headers(unittest.TestCase):
    def test_the_hooks_agree_with_the_headers_of_each_version(self):
        self.assertEqual(check(*headers("cuda.h"), *headers("cuda_runtime_api.h")), (0, ""))

    def test_the_versions_of_each_name_are_the_functions_of_these_signatures(self):
        for version in runtimes.folders():
            header = runtimes.header(version)
            table = header.driver_table
            self.assertEqual({entry.symbol for entry in table}, set(header.functions), version)
            self.assertGreater(len(table), 500)
            for entry in table:
                ours = header.signature(header.functions[entry.symbol])
                theirs = header.signature(header.typedefs[entry.base, entry.since, entry.mode])
                self.assertTrue(cuda_functions.same_signature(ours, theirs), f"{version}: {entry}: {ours}, {theirs}")

    def test_no_version_changes_what_an_exported_name_means(self):
        known = {}
        for version in runtimes.folders():
            for entry in runtimes.header(version).driver_table:
                self.assertEqual(known.setdefault(entry.symbol, entry), entry, version)

    def test_a_new_function_of_the_driver_that_allocates_is_named(self):
        for line, name in (
            ("CUresult CUDAAPI cuMemAllocElsewhere(CUdeviceptr *dptr, size_t bytesize);", "cuMemAllocElsewhere"),
            ("CUresult CUDAAPI cuMemCreate_v9(CUmemGenericAllocationHandle *handle, size_t size);", "cuMemCreate_v9"),
            ("CUresult CUDAAPI cuMemAllocAsync_v9_ptsz(CUdeviceptr *dptr);", "cuMemAllocAsync_v9_ptsz"),
        ):
            with self.subTest(name):
                path = with_line("cuda.h", line)
                code, text = check(path)
                self.assertEqual(code, 1)
                self.assertEqual(
                    text,
                    f"{path}: {name} looks like an allocation call and has no row in hooks.def "
                    "and no line in not_hooked.def\n",
                )

    def test_a_new_function_of_the_runtime_that_allocates_is_named(self):
        path = with_line("cuda_runtime_api.h", "extern __host__ cudaError_t CUDARTAPI cudaMallocElsewhere(void **p);")
        code, text = check(path)
        self.assertEqual((code, text.count("\n")), (1, 1), text)
        self.assertIn("cudaMallocElsewhere looks like an allocation call", text)

    def test_a_new_function_that_does_not_allocate_is_not_named(self):
        self.assertEqual(check(with_line("cuda.h", "CUresult CUDAAPI cuStreamPonder(CUstream stream);")), (0, ""))

    def test_a_row_with_a_wrong_version_mode_name_or_parameter_is_named(self):
        header = runtimes.header(list(runtimes.folders())[-1])
        (row,) = [one for one in cuda_functions.rows() if one.symbol == "cuMemAllocAsync_ptsz"]
        for wrong in (
            {"since": 11030},
            {"mode": "LEGACY"},
            {"base": "cuMemAlloc"},
            {"more": {**row.more, "parameters": "(CUdeviceptr *address, unsigned size, CUstream stream)"}},
            {"more": {**row.more, "parameters": "(CUdeviceptr *address, size_t size)"}},
        ):
            with self.subTest(wrong):
                table = [dataclasses.replace(row, **wrong)]
                found = [one for one in check_hooks.check_header(header, table, {}) if one.startswith("row ")]
                self.assertEqual(len(found), 1)
                self.assertIn("row cuMemAllocAsync_ptsz", found[0])
        self.assertEqual([one for one in check_hooks.check_header(header, [row], {}) if "row cu" in one], [])

    def test_rows_and_reasons_for_undeclared_names_are_reported(self):
        given = [cuda_functions.Header(headers(name)[-1]) for name in cuda_functions.COMPANIONS]
        (row,) = [one for one in cuda_functions.rows() if one.symbol == "cuMemCreate"]
        invented = dataclasses.replace(row, symbol="cuMemConjure")
        found = list(
            check_hooks.check_unknown(given, [row, invented], {"cuMemPoolGetAccess": ("", ""), "cuNo": ("", "")})
        )
        self.assertEqual(
            found, ["row cuMemConjure: no header declares it", "not_hooked.def has cuNo, which no header declares"]
        )

    def test_a_name_with_both_a_row_and_a_reason_is_named(self):
        (row,) = [one for one in cuda_functions.rows() if one.symbol == "cuMemCreate"]
        self.assertEqual(
            list(check_hooks.check_reasons([row], {"cuMemCreate": ("why", ""), "cuOther": ("", "")})),
            ["not_hooked.def has cuMemCreate, which has a row", "not_hooked.def has cuOther without a reason"],
        )

    def test_a_file_that_is_not_a_header_is_refused_in_one_line(self):
        empty = os.path.join(runtimes.folder(), "empty.h")
        open(empty, "w", encoding="utf-8").close()
        for path in (empty, "/nonexistent/cuda.h"):
            code, text = check(path)
            self.assertEqual((code, text.count("\n")), (2, 1), text)
            self.assertIn(path, text)

    def test_the_wrappers_compile_with_the_headers_of_each_version(self):
        units = units_with_cuda()
        self.assertIn(os.path.join(PRELOAD, "wrappers", "wrappers.c"), units)
        for version in runtimes.folders():
            for unit in units:
                with self.subTest(version=version, unit=os.path.basename(unit)):
                    done = compile_with(version, "-fsyntax-only", unit)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_types_that_older_headers_lack_are_laid_out_as_in_newer_ones(self):
        outputs = {}
        for version in runtimes.folders():
            target = os.path.join(runtimes.folder(), f"type-layouts-{version}")
            done = compile_with(version, "-o", target, os.path.join(runtimes.HERE, "type_layouts.c"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), version)
            outputs[version] = subprocess.run([target], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertEqual(len(set(outputs.values())), 1, outputs)


if __name__ == "__main__":
    tap.main()
