# SPDX-License-Identifier: MIT
"""Tests the stub libraries that make_stubs.py writes, and the answers in simcuda/stubs.

Run with the simulated device's folder as the argument and in LD_LIBRARY_PATH.
"""

import ctypes
import pathlib
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER.parent.parent / "tests" / "helpers")]

import make_stubs  # noqa: E402
import tap  # noqa: E402

FLOAT = 7  # ncclFloat32


class Identity(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Stubs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, soname, symbols):
        make_stubs.build(pathlib.Path(self.folder.name), soname, dict.fromkeys(symbols))
        return ctypes.CDLL(f"{self.folder.name}/{soname}")

    def test_a_function_without_an_implementation_returns_success_and_writes_nothing(self):
        library = self.build("libcublas.so.12", ["cublasSgemm_v2", "cublasGetStatusString"])
        self.assertEqual(library.cublasSgemm_v2(), 0)
        library.cublasGetStatusString.restype = ctypes.c_char_p
        self.assertEqual(library.cublasGetStatusString(), b"stub")

    def test_versions_follow_the_number_in_the_librarys_name(self):
        for major in 12, 13:
            library = self.build(f"libcublas.so.{major}", ["cublasGetProperty", "cublasCreate_v2"])
            number, handle = ctypes.c_int(), ctypes.c_void_p()
            self.assertEqual(library.cublasGetProperty(0, ctypes.byref(number)), 0)
            self.assertEqual(number.value, major)
            self.assertEqual(library.cublasCreate_v2(ctypes.byref(handle)), 0)
            self.assertTrue(handle.value)

    def test_implemented_functions_keep_their_version_node(self):
        make_stubs.build(
            pathlib.Path(self.folder.name),
            "libcublas.so.12",
            {"cublasCreate_v2": "libcublas.so.12", "cublasSgemm_v2": "libcublas.so.12"},
        )
        library = ctypes.CDLL(f"{self.folder.name}/libcublas.so.12")
        find = ctypes.CDLL(None).dlvsym
        find.restype = ctypes.c_void_p
        find.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        for name in b"cublasCreate_v2", b"cublasSgemm_v2":
            self.assertTrue(find(library._handle, name, b"libcublas.so.12"), name)

    def test_every_implementation_compiles_for_every_major_version(self):
        for path in sorted(make_stubs.ANSWERS.glob("*.c")):
            stem = "libnvshmem_host.so" if path.stem == "nvshmem" else f"lib{path.stem}.so"
            for major in {2} if path.stem == "nccl" else {9, 13}:
                source, answered = make_stubs.answers_of(f"{stem}.{major}")
                self.assertEqual(source, path)
                self.assertTrue(answered, path)

    def test_libraries_opened_by_name_are_found_in_strings(self):
        class Wheel:
            path = pathlib.Path(self.folder.name) / "plugin.so"

        Wheel.path.write_bytes(b"\0cublasCreate_v2\0cublasLtCreate\0ncclCommCount\0cudaMalloc\0cusolver is not\0")
        for cuda, number in (12, 12), (13, 13):
            libraries = {}
            make_stubs.add_opened_by_name([Wheel], libraries, cuda)
            self.assertEqual(
                {soname: list(names) for soname, names in libraries.items()},
                {
                    f"libcublas.so.{number}": ["cublasCreate_v2"],
                    f"libcublasLt.so.{number}": ["cublasLtCreate"],
                    "libnccl.so.2": ["ncclCommCount"],
                },
            )

    def test_communicators_know_their_ranks_and_have_no_error(self):
        nccl = self.build("libnccl.so.2", ["ncclCommInitRank"])
        nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Identity, ctypes.c_int]
        communicators = [ctypes.c_void_p() for _ in range(3)]
        for rank, communicator in enumerate(communicators):
            self.assertEqual(nccl.ncclCommInitRank(ctypes.addressof(communicator), 3, Identity(), rank), 0)
        for rank, communicator in enumerate(communicators):
            number = ctypes.c_int(-1)
            self.assertEqual(nccl.ncclCommCount(communicator, ctypes.byref(number)), 0)
            self.assertEqual(number.value, 3)
            self.assertEqual(nccl.ncclCommUserRank(communicator, ctypes.byref(number)), 0)
            self.assertEqual(number.value, rank)
            number.value = -1
            self.assertEqual(nccl.ncclCommGetAsyncError(communicator, ctypes.byref(number)), 0)
            self.assertEqual(number.value, 0)
        split = ctypes.c_void_p()
        self.assertEqual(nccl.ncclCommSplit(communicators[1], 0, 0, ctypes.byref(split), None), 0)
        self.assertNotIn(split.value, [None, communicators[1].value])
        self.assertEqual(nccl.ncclCommSplit(communicators[1], -1, 0, ctypes.byref(split), None), 0)
        self.assertIsNone(split.value, "a rank without a color is in no communicator")
        for communicator in communicators:
            self.assertEqual(nccl.ncclCommDestroy(communicator), 0)

    def test_a_gather_contains_the_part_of_each_rank(self):
        nccl, cuda = self.build("libnccl.so.2", ["ncclAllGather"]), ctypes.CDLL("libcuda.so.1")
        context, communicators = ctypes.c_void_p(), (ctypes.c_void_p * 2)()
        self.assertEqual(cuda.cuInit(0), 0)
        self.assertEqual(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0), 0)
        self.assertEqual(nccl.ncclCommInitAll(communicators, 2, None), 0)
        part, whole = ctypes.c_uint64(), ctypes.c_uint64()
        self.assertEqual(cuda.cuMemAlloc_v2(ctypes.byref(part), ctypes.c_size_t(8)), 0)
        self.assertEqual(cuda.cuMemAlloc_v2(ctypes.byref(whole), ctypes.c_size_t(16)), 0)
        data, found = (ctypes.c_float * 2)(1.5, 2.5), (ctypes.c_float * 4)()
        self.assertEqual(cuda.cuMemcpyHtoD_v2(part, data, ctypes.c_size_t(8)), 0)
        second, one, two = ctypes.c_void_p(communicators[1]), ctypes.c_size_t(1), ctypes.c_size_t(2)
        self.assertEqual(nccl.ncclAllGather(part, whole, two, FLOAT, second, None), 0)
        self.assertEqual(cuda.cuMemcpyDtoH_v2(found, whole, ctypes.c_size_t(16)), 0)
        self.assertEqual(list(found), [1.5, 2.5, 1.5, 2.5])
        # Each rank gets its own slice of what it sent.
        self.assertEqual(nccl.ncclReduceScatter(whole, part, one, FLOAT, 0, second, None), 0)
        self.assertEqual(cuda.cuMemcpyDtoH_v2(found, part, ctypes.c_size_t(4)), 0)
        self.assertEqual(found[0], 2.5)


if __name__ == "__main__":
    tap.main()
