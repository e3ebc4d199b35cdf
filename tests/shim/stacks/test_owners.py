# SPDX-License-Identifier: MIT
"""Reports name the owner of memory that a library allocates in any way. Stand-ins have the names of real libraries."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tap
from recorded_run import BUILD, SIMCUDA, RecordedRun

HOST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "owners_host.py")
KIB = 1 << 10

SOURCE = r"""
#include <dlfcn.h>
#include <stddef.h>

int entry(size_t size) __asm__("%(symbol)s");
%(declare)s
__attribute__((visibility("default"), noinline)) int entry(size_t size)
{
	void *block = NULL;
	%(how)s
	int result = get(&block, size);

	return result + !block;
}
"""
BY_FILE = 'int (*get)(void **, size_t) = (int (*)(void **, size_t))dlsym(dlopen("%s", RTLD_NOW), "%s");'
BY_LINK = "int (*get)(void **, size_t) = cudaMalloc;"

# A renamed copy of the runtime, as tools that repair wheels make it.
COPY = "cupy_cuda12x.libs/libcudart-8b6a0d3e.so.12"

# For each stand-in: its file, its function, the owner of its memory, and its runtime (None: a static one).
STAND_INS = [
    ("cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so", "__pyx_f_4cupy_4cuda_6memory__malloc", "CuPy", COPY),
    ("rmm/librmm.so", "_ZN3rmm2mr20cuda_memory_resource11do_allocateEmN4cuda10stream_refE", "RMM", "libcudart.so.12"),
    (
        "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
        "_ZN15stream_executor3gpu12CudaExecutor14DeviceAllocateEm",
        "XLA",
        "libcudart.so.12",
    ),
    ("nvidia/nccl/lib/libnccl.so.2", "ncclMemAlloc", "NCCL", "libcudart.so.13"),
    ("nvidia/cublas/lib/libcublas.so.12", "cublasCreate_v2", "cuBLAS", None),
    ("nvidia/cudnn/lib/libcudnn_graph.so.9", "cudnnCreate", "cuDNN", None),
    ("../engine/libengine.so.3", "grow", "libengine.so.3", "libcudart.so.12"),
]


def build(folder):
    """Builds the stand-ins; static ones are stripped, as the real ones are. Returns [(path, symbol, owner)]."""
    made = []
    os.makedirs(os.path.join(folder, os.path.dirname(COPY)))
    shutil.copy(os.path.join(SIMCUDA, "libcudart.so.12"), os.path.join(folder, COPY))
    for name, symbol, owner, runtime in STAND_INS:
        path = os.path.normpath(os.path.join(folder, name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        source = path + ".c"
        with open(source, "w", encoding="utf-8") as file:
            if runtime:
                library = os.path.join(folder, runtime) if "/" in runtime else runtime
                file.write(SOURCE % {"symbol": symbol, "declare": "", "how": BY_FILE % (library, "cudaMalloc")})
            else:
                file.write(SOURCE % {"symbol": symbol, "declare": "int cudaMalloc(void **, size_t);", "how": BY_LINK})
        static = [] if runtime else ["-s", os.path.join(BUILD, "simcuda", "libsimcudart_static.a"), "-lpthread"]
        subprocess.run(
            [
                "cc",
                "-O1",
                "-shared",
                "-fPIC",
                "-Wl,--exclude-libs,ALL",
                "-Wl,--build-id=sha1",
                "-o",
                path,
                source,
                *static,
            ],
            check=True,
            timeout=60,
        )
        os.unlink(source)
        made.append((path, symbol, owner))
    return made


@unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
class Owners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        root = tempfile.mkdtemp(prefix="gpumemtrace-test.")
        cls.addClassCleanup(shutil.rmtree, root, ignore_errors=True)
        cls.stand_ins = build(os.path.join(root, "lib", "python3.12", "site-packages"))

    def record(self, options=None):
        """Returns the owners by size; each library allocates its own size."""
        sizes = [(i + 1) * 512 * KIB for i in range(len(self.stand_ins) + 1)]
        calls = [word for (path, symbol, _), size in zip(self.stand_ins, sizes) for word in (path, symbol, str(size))]
        run = RecordedRun([sys.executable, HOST, *calls, str(sizes[-1])], options)
        self.assertEqual(run.code, 0, run.err)
        sites = [site for site in run.report()["sites"] if site["layer"] == "cuda"]
        shown = {site["total_bytes"]: site["owner"] for site in sites}
        self.assertEqual(len(sites), len(shown))
        return shown, {
            size: owner for size, owner in zip(sizes, [owner for _, _, owner in self.stand_ins] + ["program"])
        }

    def test_memory_of_each_stand_in_is_its_librarys_and_the_rest_the_programs(self):
        shown, expected = self.record()
        self.assertEqual(shown, expected)

    def test_native_stacks_alone_give_the_same_owners(self):
        shown, expected = self.record({"stacks": "native"})
        self.assertEqual(shown, expected)

    def test_without_native_stacks_all_memory_is_the_programs(self):
        shown, _wanted = self.record({"stacks": "python"})
        self.assertEqual(set(shown.values()), {"program"})

    def test_without_stacks_the_owner_is_unknown(self):
        run = RecordedRun([sys.executable, HOST, "4096"], {"stacks": "none"})
        self.assertEqual({site["owner"] for site in run.report()["sites"] if site["total_bytes"] == 4096}, {"unknown"})


if __name__ == "__main__":
    tap.main()
