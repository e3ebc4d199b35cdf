# SPDX-License-Identifier: MIT
"""Owners: the library that asked for memory, in JSON, in text and as a table; the user's own rules, and wrong rules."""

import json
import os
import re
import subprocess
import unittest

import cli
import write_recording as w
from definitions import Kind, Layer, Space

MIB = 1 << 20
PACKAGES = "/env/lib/python3.12/site-packages/"
PROGRAM = "/home/me/train"
DRIVER = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
RUNTIME = PACKAGES + "cupy_cuda12x.libs/libcudart-8b6a0d3e.so.12"
CACHE = PACKAGES + "torch/lib/libc10_cuda.so"
LIBTORCH = PACKAGES + "torch/lib/libtorch_cuda.so"
CUBLAS = PACKAGES + "nvidia/cublas/lib/libcublasLt.so.12"
NCCL = PACKAGES + "nvidia/nccl/lib/libnccl.so.2"
SCRIPT = "/home/me/train.py"

# Each block has a layer, MiB, native frames (modules, leaf first) and Python frames (files).
STORY = [
    (Layer.CUDA, 20, (DRIVER, RUNTIME, CACHE, LIBTORCH), (SCRIPT,)),
    (Layer.CUDA, 8, (DRIVER, CUBLAS, LIBTORCH), (SCRIPT,)),
    (Layer.CUDA, 4, (DRIVER, RUNTIME, NCCL), ()),
    (Layer.CUDA, 3, (DRIVER, "/opt/engine/libengine.so.3", PROGRAM), ()),
    (Layer.CUDA, 2, (DRIVER, RUNTIME, PROGRAM), ()),
    (Layer.CUDA, 1, (), ()),
    (Layer.TORCH, 6, (CACHE, LIBTORCH), (SCRIPT,)),
    (Layer.TORCH, 5, (CACHE, LIBTORCH), (PACKAGES + "vllm/worker/cache_engine.py", SCRIPT)),
    (Layer.TORCH, 1, (CACHE, LIBTORCH, "/home/me/ops/fused.so"), (SCRIPT,)),
]
OWNERS = ["PyTorch", "cuBLAS", "NCCL", "libengine.so.3", "program", "unknown", "PyTorch", "vLLM", "fused.so"]


def write_story(path, story=(), modules=(), addresses=None):
    """Writes a recording of such blocks. `addresses` gives native frames an address in `modules`."""
    story = story or STORY
    files = sorted({file for _, _, _, python in story for file in python})
    natives = sorted({module for _, _, native, _ in story for module in native} - set(addresses or ()))
    rows = [
        {"id": 100 + i, "start": (i + 1) << 32, "end": ((i + 1) << 32) + 65536, "bias": (i + 1) << 32, "path": name}
        for i, name in enumerate(natives)
    ] + list(modules)
    at = {**{row["path"]: row["bias"] + 0x100 for row in rows}, **(addresses or {})}
    stacks, frames, events = [], [], []
    for i, (layer, mib, native, python) in enumerate(story, 1):
        stacks += [{"id": i, "items": [at[name] for name in native]}] if native else []
        if python:
            items = [(files.index(file) + 1) * 2 + (file == python[-1]) for file in python]
            frames.append({"id": i, "items": items})
        events.append(
            {
                "stamp": 2000 + i,
                "thread": 1,
                "kind": Kind.ALLOC,
                "layer": layer,
                "space": Space.DEVICE,
                "device": 0,
                "address": i << 40,
                "size_bytes": mib * MIB,
                "stack": i if native else 0,
                "frames": i if python else 0,
            }
        )
    tables = {
        "module": rows,
        "code": [{"id": i + 1, "function": "f", "file": file} for i, file in enumerate(files)],
        "frame": [{"id": i + 1, "code": i + 1, "line": 7} for i in range(len(files))],
        "stack": stacks,
        "frames": frames,
        "event": events,
    }
    w.write(
        path,
        w.process(executable=PROGRAM),
        *[w.block(name, *table) for name, table in tables.items() if table],
        w.end(len(events)),
    )


def sites(path, *arguments):
    """Returns the owners by layer and MiB."""
    report = cli.report(path, *arguments)
    return {(site["layer"], site["total_bytes"] // MIB): site["owner"] for site in report["sites"]}


class Owners(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.story = cli.place("owners.gmt.gz")
        write_story(cls.story)
        cls.want = {
            ("cuda" if layer == Layer.CUDA else "torch", mib): owner for (layer, mib, _, _), owner in zip(STORY, OWNERS)
        }

    def rules(self, text, name="mine.rules"):
        with open(cli.place(name), "w", encoding="utf-8") as file:
            file.write(text)
        return cli.place(name)

    def test_each_site_has_the_owner_of_its_stack(self):
        self.assertEqual(sites(self.story), self.want)

    def test_which_native_frames_are_shown_changes_no_owner(self):
        for native in "all", "trimmed":
            self.assertEqual(sites(self.story, "--native", native), self.want)
        # Without native frames, some sites of layer torch merge. The driver's sites stay apart here.
        shown = sites(self.story, "--native", "none")
        self.assertEqual(shown["cuda", 4], "NCCL")
        self.assertEqual(shown["cuda", 28], "PyTorch")

    def test_the_table_by_owner_sums_to_each_layer_and_has_each_owners_own_peak(self):
        report = cli.report(self.story, "--by", "owner")
        (table,) = report["tables"]
        self.assertEqual(table["by"], "owner")
        rows = {(row["layer"], row["name"]): row for row in table["rows"]}
        self.assertEqual(
            {key: row["peak_bytes"] // MIB for key, row in rows.items()},
            {(layer, owner): mib for (layer, mib), owner in self.want.items()},
        )
        for layer in report["devices"][0]["layers"]:
            for key in "peak_bytes", "live_bytes":
                self.assertEqual(sum(row[key] for row in table["rows"] if row["layer"] == layer["layer"]), layer[key])
        self.assertEqual(rows["cuda", "cuBLAS"]["max_live_bytes"], 8 * MIB)
        (peak,) = [peak for peak in report["peaks"] if peak["layer"] == "cuda"]
        self.assertEqual(peak["by_owner"][0], {"name": "PyTorch", "bytes": 20 * MIB, "blocks": 1})

    def test_the_peak_of_an_owner_is_of_the_sum_of_its_sites(self):
        path = cli.place("own_peaks.gmt.gz")
        event = {**w.EVENT, "device": 0}
        # cuBLAS holds 3 MiB, then 3 + 2, then 2 + 4. The layer's peak is 26 MiB.
        plan = [
            (1, 0x1000, 3, 1),
            (1, 0x2000, 2, 2),
            (2, 0x1000, 3, 0),
            (1, 0x3000, 4, 4),
            (2, 0x2000, 2, 0),
            (1, 0x4000, 22, 3),
        ]
        rows = [
            {
                **event,
                "stamp": 2000 + i,
                "kind": kind,
                "address": address << 20,
                "size_bytes": mib * MIB,
                "stack": stack,
            }
            for i, (kind, address, mib, stack) in enumerate(plan)
        ]
        w.write(
            path,
            w.process(executable=PROGRAM),
            w.block(
                "module",
                {"id": 1, "start": 1 << 32, "end": 2 << 32, "bias": 1 << 32, "path": CUBLAS},
                {"id": 2, "start": 2 << 32, "end": 3 << 32, "bias": 2 << 32, "path": PROGRAM},
            ),
            w.block(
                "stack",
                {"id": 1, "items": [(1 << 32) + 16]},
                {"id": 2, "items": [(1 << 32) + 32]},
                {"id": 3, "items": [(2 << 32) + 16]},
                {"id": 4, "items": [(1 << 32) + 48]},
            ),
            w.block("event", *rows),
            w.end(len(rows)),
        )
        rows = {row["name"]: row for row in cli.report(path, "--by", "owner")["tables"][0]["rows"]}
        self.assertEqual((rows["cuBLAS"]["max_live_bytes"], rows["cuBLAS"]["peak_bytes"]), (6 * MIB, 4 * MIB))
        self.assertEqual((rows["program"]["max_live_bytes"], rows["program"]["live_bytes"]), (22 * MIB, 22 * MIB))

    def test_the_text_omits_an_obvious_owner(self):
        text = cli.run("report", "--full", self.story).stdout
        self.assertRegex(text, r"8\.00 MiB .* \(of cuBLAS\)")
        self.assertRegex(text, r"5\.00 MiB .* \(of vLLM\)")
        self.assertNotRegex(text, r"\(of (program|unknown)\)")
        self.assertRegex(
            text,
            r"Composition of the cuda peak on GPU 0: 38\.0 MiB .*\n"
            r" +by owner +PyTorch 53 %, cuBLAS 21 %",
        )
        # The report omits PyTorch as the owner of its own blocks.
        self.assertNotRegex(text, r"6\.00 MiB .*\(of PyTorch\)")
        table = cli.run("report", "--by", "owner", self.story).stdout
        self.assertIn("cuda on GPU 0 by owner, sorted by peak\n", table)
        self.assertRegex(table, r"tot/peak +largest +own peak\n")
        self.assertRegex(table, r"(?m)^ +8\.00 MiB +21\.1 % .* 8\.00 MiB  cuBLAS$")

    def test_leaks_and_findings_have_owners(self):
        done = cli.run("leaks", "--json", "--definition=exit", self.story)
        found = {
            leak["bytes"] // MIB: leak["owner"] for leak in json.loads(done.stdout)["leaks"] if leak["layer"] == "cuda"
        }
        self.assertEqual(found[3], "libengine.so.3")
        done = cli.run("check", "--json", "--definition=exit", "--no-default-suppressions", self.story)
        self.assertEqual(done.returncode, 1)
        found = {
            finding["bytes"] // MIB: finding["owner"]
            for finding in json.loads(done.stdout)["findings"]
            if finding["layer"] == "cuda"
        }
        self.assertEqual(found[4], "NCCL")

    def test_the_users_rules_come_first_in_the_order_of_the_files(self):
        mine = self.rules("own \"The Engine\" library libengine*\nown Loader file train.py\n")
        shown = sites(self.story, "--owners", mine)
        self.assertEqual(shown["cuda", 3], "The Engine")
        self.assertEqual(shown["torch", 6], "Loader")
        self.assertEqual(shown["cuda", 8], "cuBLAS")
        other = self.rules("skip - library libengine*\n", "other.rules")
        self.assertEqual(sites(self.story, f"--owners={other}", f"--owners={mine}")["cuda", 3], "program")
        self.assertEqual(sites(self.story, f"--owners={mine}", f"--owners={other}")["cuda", 3], "The Engine")
        for verb in ("leaks", "--definition=exit"), ("check", "--definition=exit"):
            self.assertIn("The Engine", cli.run(*verb, "--json", "--owners", mine, self.story).stdout)

    def test_a_wrong_rule_is_one_line_with_its_place_and_exit_code_2(self):
        path = self.rules("# fine\nown cuBLAS library libcublas*\nown cuBLAS libary libcublas*\n", "wrong.rules")
        untouched = cli.place("untouched")
        for verb in "report", "leaks", "check":
            done = cli.run(verb, "--owners", path, "-o", untouched, self.story)
            self.assertEqual((done.returncode, done.stdout), (2, ""), verb)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(f"{path}:3: a kind is library, function, file or package, not `libary`", done.stderr)
            self.assertFalse(os.path.exists(untouched))
        # A recording in place of the rules also gives one line that is safe for a terminal.
        done = cli.run("report", "--owners", self.story, self.story)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rf"^gpumemtrace: error: {re.escape(self.story)}:1: [ -~]*\n$")
        done = cli.run("report", "--owners", "/no/such/file", self.story)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/such/file: No such file", done.stderr)

    def test_the_built_in_rules_may_be_given_as_a_file_and_change_nothing(self):
        builtin = os.path.join(cli.SOURCE, "src", "reader", "stacks", "owners.rules")
        self.assertEqual(
            cli.run("report", "--json", "--owners", builtin, self.story).stdout,
            cli.run("report", "--json", self.story).stdout,
        )


class Functions(unittest.TestCase):
    """A library that links others in. Its functions identify the owners. A fake has the names of real functions."""

    NAMES = {
        "nccl": "ncclCommInitRank",
        "rmm": "_ZN3rmm2mr20cuda_memory_resource11do_allocateEm",
        "own": "grow",
        "runtime": "cudaMalloc",
        "cache": "_ZN3c104cuda20CUDACachingAllocator6Native6mallocEv",
    }

    def make(self):
        path, source = cli.place("libstandin.so"), cli.place("standin.c")
        with open(source, "w", encoding="utf-8") as file:
            for name, symbol in self.NAMES.items():
                file.write(
                    f'int {name}(int x) __asm__("{symbol}");\n'
                    f'__attribute__((visibility("default"))) int {name}(int x) {{ return x + {len(name)}; }}\n'
                )
        try:
            subprocess.run(["cc", "-O0", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", path, source], check=True)
            symbols = subprocess.run(["nm", "-D", path], check=True, capture_output=True, text=True).stdout
            identity = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
        except FileNotFoundError as error:
            raise unittest.SkipTest(f"no {error.filename} on this machine") from error
        where = {line.split()[-1]: int(line.split()[0], 16) for line in symbols.splitlines() if " T " in line}
        bias = 0x7F0000000000
        module = {
            "id": 1,
            "start": bias,
            "end": bias + (1 << 30),
            "bias": bias,
            "path": path,
            "build_id": re.search(r"Build ID: (\w+)", identity).group(1),
        }
        return module, {name: bias + where[symbol] + 4 for name, symbol in self.NAMES.items()}

    def test_a_statically_linked_library_is_recognized_by_its_function_names(self):
        module, addresses = self.make()
        story = [
            (Layer.CUDA, 1, (DRIVER, "runtime", "nccl", "own"), ()),
            (Layer.CUDA, 2, (DRIVER, "runtime", "rmm", "own"), ()),
            (Layer.CUDA, 3, (DRIVER, "runtime", "own"), ()),
            (Layer.CUDA, 4, (DRIVER, "cache"), ()),
        ]
        path = cli.place("functions.gmt.gz")
        write_story(path, story, [module], addresses)
        self.assertEqual(
            sites(path), {("cuda", 1): "NCCL", ("cuda", 2): "RMM", ("cuda", 3): "libstandin.so", ("cuda", 4): "PyTorch"}
        )
        # Without its file the names are unknown, and all blocks belong to the library.
        os.unlink(module["path"])
        self.assertEqual(set(sites(path).values()), {"libstandin.so"})


if __name__ == "__main__":
    cli.main()
