# SPDX-License-Identifier: MIT
"""Small recordings that cause much work or output: each verb stays within a limit, and says what it left out."""

import json
import os
import resource
import subprocess
import unittest

import cli
import read_recording
import write_recording as w
from definitions import Kind, Layer, MarkKind, MarkSource, Space

LONG = bool(os.environ.get("GMT_TEST_LONG"))
# A verb takes up to two seconds. The limit is ten times as long, so that a busy machine fails no test.
PROCESSOR_S = 20
OUTPUT_BYTES = 64 << 20
LEFT_OUT = "is not included, because the analysis exceeded the work limit for a file of this size; `gpumemtrace --max-work=none VERB ...` removes the limit"


def many(kind, count, /, **cells):
    """Returns a block of many rows. A cell is a value for all rows, or a sequence with a value for each."""
    columns = b""
    for field, encoding, _bits in read_recording.RECORDS[w.NUMBERS[kind]][1]:
        cell = cells.get(field, {"S": b"", "L": []}.get(encoding, 0))
        if isinstance(cell, (list, range)) and (encoding != "L" or cell):
            columns += w.column(encoding, cell)
            continue
        if encoding == "D" and cell:
            columns += w.column(encoding, [cell] * count)
            continue
        # The first byte is the length of the column.
        value = w.column(encoding, [cell])[1:]
        columns += w.varint(len(value) * count) + value * count
    return w.raw_block(w.NUMBERS[kind], count, columns)


def events(count, first, /, **cells):
    return many(
        "event",
        count,
        **{
            "stamp": range(first, first + count),
            "thread": 1,
            "kind": Kind.ALLOC,
            "layer": Layer.CUDA,
            "space": Space.DEVICE,
            "size_bytes": 100,
            **cells,
        },
    )


def addresses(count, step=4096):
    return range(step, step * (count + 1), step)


def python_stacks(stacks, depth, name, file):
    """Returns stacks whose frames all have the same function."""
    return (
        w.block("code", {"id": 1, "function": name, "file": file}),
        many("frame", depth, id=range(1, depth + 1), code=1, line=range(depth)),
        many(
            "frames",
            stacks,
            id=range(1, stacks + 1),
            items=[[2 * (1 + (i + s) % depth) for i in range(depth)] for s in range(stacks)],
        ),
    )


def launches(nodes, count):
    return (
        events(1, 1, kind=Kind.CREATE, space=Space.GRAPH, address=5, object=1),
        events(nodes, 2, kind=Kind.NODE_ALLOC, space=Space.GRAPH, address=addresses(nodes), object=5),
        events(count, 10**6, kind=Kind.LAUNCH, space=Space.GRAPH, address=5, size_bytes=0),
    )


def overlapping_maps(count):
    return (
        events(count, 1, space=Space.VMM, address=range(1, count + 1)),
        events(
            count,
            10**6,
            kind=Kind.MAP,
            layer=Layer.VIEW,
            space=Space.VMM,
            size_bytes=1 << 40,
            object=range(1, count + 1),
            address=range(1 << 40, (1 << 40) - 4096 * count, -4096),
        ),
        events(
            count,
            2 * 10**6,
            kind=Kind.RETAIN,
            space=Space.VMM,
            address=range(10**6, 10**6 + count),
            object=range(1 << 41, (1 << 41) - count, -1),
        ),
        events(
            count,
            3 * 10**6,
            kind=Kind.UNMAP,
            layer=Layer.VIEW,
            space=Space.VMM,
            address=addresses(count),
            size_bytes=1 << 50,
        ),
    )


def nested_phases(count, kind):
    blocks = [many("name", 1000, id=range(1, 1001), text=[b"n%d" % i for i in range(1000)])]
    for part in range(10):
        first = part * count // 10
        blocks.append(
            many(
                "mark",
                count // 10,
                stamp=range(2 * first + 1, 2 * first + count // 5, 2),
                thread=1,
                kind=kind,
                source=MarkSource.PROGRAM,
                name=[1 + i % 1000 for i in range(count // 10)],
                object=range(first + 1, first + 1 + count // 10),
            )
        )
        blocks.append(
            events(
                count // 10,
                0,
                stamp=range(2 * first + 2, 2 * first + 1 + count // 5, 2),
                address=range(4096 * (first + 1), 4096 * (first + 1 + count // 10), 4096),
            )
        )
    return blocks


def bound_in_a_chain(count):
    """Returns imported objects that are each bound to the one before. The end of the first one ends all."""
    return (
        events(count, 1, layer=Layer.IMPORTED, space=Space.VMM_IMPORTED, address=range(1, count + 1), size_bytes=0),
        events(
            count - 1,
            10**6,
            kind=Kind.BIND,
            layer=Layer.VIEW,
            space=Space.MULTICAST,
            address=range(1, count),
            object=range(2, count + 1),
            size_bytes=1 << 17,
        ),
        events(
            count,
            2 * 10**6,
            kind=Kind.FREE,
            layer=Layer.IMPORTED,
            space=Space.VMM_IMPORTED,
            address=range(count, 0, -1),
            size_bytes=0,
        ),
    )


def samples_of_devices(devices):
    numbers = [i % devices for i in range(2 * devices)]
    return (
        events(devices, 1, address=addresses(devices), device=range(devices)),
        many(
            "sample",
            2 * devices,
            stamp=range(10**5, 10**5 + 2 * devices),
            begin_stamp=range(10**5, 10**5 + 2 * devices),
            device=numbers,
            known=[1 << (i // devices) % 5 for i in range(2 * devices)],
            free_bytes=1,
            total_bytes=9,
        ),
        events(1, 10**6, address=1),
    )


def contexts_that_end(count):
    return (
        events(2 * count, 1, address=addresses(2 * count), context=range(1, 2 * count + 1)),
        events(
            count,
            10**6,
            layer=Layer.DRIVER,
            space=Space.CONTEXT,
            address=range(1, count + 1),
            context=range(1, count + 1),
        ),
        events(
            count,
            2 * 10**6,
            kind=Kind.FREE,
            layer=Layer.DRIVER,
            space=Space.CONTEXT,
            address=range(1, count + 1),
            context=range(count + 1, 2 * count + 1),
        ),
    )


def pools_and_frees_of_none(count):
    return (
        events(count, 1, kind=Kind.CREATE, layer=Layer.CUSTOM, space=Space.HEAP, object=range(1, count + 1)),
        events(count, 10**6, kind=Kind.FREE, layer=Layer.CUSTOM, space=Space.HEAP, address=addresses(count)),
    )


def steps_of_devices(steps, devices):
    return (
        w.block("name", {"id": 1, "text": "step"}),
        events(devices, 1, address=addresses(devices), device=range(devices)),
        many(
            "mark",
            steps,
            stamp=range(10**6, 10**6 + steps),
            thread=1,
            kind=MarkKind.STEP,
            source=MarkSource.PROGRAM,
            name=1,
        ),
    )


def write(name, *blocks):
    path = cli.place(name + ".gmt.gz")
    w.write(path, w.process(), *blocks)
    return path


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


class Work(unittest.TestCase):
    def run_limited(self, *arguments):
        """Runs a verb with limits. Its output is a file: too much output or work ends the verb by a signal."""
        out = cli.place("out")
        with open(out, "wb") as file:
            done = subprocess.run(
                [cli.CLI, *arguments],
                stdout=file,
                stderr=subprocess.PIPE,
                text=True,
                env=cli.PLAIN,
                preexec_fn=limit,
                check=False,
            )
        with open(out, "rb") as file:
            return done.returncode, file.read(), done.stderr

    def forms(self, path):
        other, compacted = cli.make("other.gmt.gz"), cli.place("compacted.gmt.gz")
        if os.path.exists(compacted):
            os.unlink(compacted)
        yield from (
            ("report", path),
            ("report", "--json", path),
            ("leaks", path),
            ("check", path),
            ("check", "--json", path),
            ("diff", other, path),
            ("dump", path),
            ("fold", "-o", compacted, path),
        )
        if LONG:
            yield from (
                ("report", "--by", "step", path),
                ("leaks", "--json", "--definition=all", "--age-steps=1", path),
                ("check", "--junit", cli.place("junit"), path),
                ("diff", "--json", path, other),
                ("info", path),
            )

    def check_all(self, path, *parts):
        """Checks each verb's limits and the line about omitted `parts`. Returns the forms that printed such a line."""
        said = []
        for form in self.forms(path):
            code, out, errors = self.run_limited(*form)
            lines = [line for line in errors.splitlines() if line.endswith(LEFT_OUT)]
            self.assertIn(code, (0, 1, 4), (form, errors))
            self.assertEqual(code == 4, bool(lines), (form, errors))
            if lines:
                self.assertEqual(len(lines), len(set(lines)), errors)
                for line in lines:
                    self.assertTrue(any(f"{part} {LEFT_OUT}" in line for part in parts), errors)
                said.append(" ".join(form[:2]) if form[1].startswith("--") else form[0])
            if "--json" in form:
                json.loads(out)
        return said

    def test_launches_times_nodes(self):
        path = write("launches", *launches(100000, 100000))
        said = self.check_all(path, "the memory of the last launches of graphs")
        self.assertLessEqual({"report", "report --json", "leaks", "check", "check --json", "diff", "fold"}, set(said))
        self.assertFalse(os.path.exists(cli.place("compacted.gmt.gz")), "a compaction without a part of the totals")
        _code, out, _errors = self.run_limited("report", "--json", path)
        report = json.loads(out)
        self.assertFalse(report["complete"])
        self.assertIn("the memory of the last launches", out.decode())

    def test_more_work_can_be_allowed(self):
        path = write("allowed", *launches(4000, 4000))
        self.assertEqual(cli.run("report", path).returncode, 4)
        counts = []
        for allowed in "--max-work=4", "--max-work=none":
            done = cli.run(allowed, "report", "--json", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            counts.append(json.loads(done.stdout)["devices"][0]["layers"][0]["alloc_count"])
        self.assertEqual(counts, [4000 * 4000] * 2)
        for wrong in "--max-work=", "--max-work=0", "--max-work=much", "--max-work=-1", "--max-work=1x":
            done = cli.run(wrong, "report", path)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), wrong)

    def test_each_of_several_files_has_a_budget_and_a_line_of_its_own(self):
        bomb, fine = write("bomb", *launches(4096, 20000)), cli.make("fine.gmt.gz")
        for verb in "report", "leaks", "check":
            code, _out, errors = self.run_limited(verb, bomb, fine)
            self.assertEqual(code, 4, errors)
            self.assertEqual([line for line in errors.splitlines() if fine in line], [])
            self.assertEqual(sum(LEFT_OUT in line and bomb in line for line in errors.splitlines()), 1, errors)

    def test_overlapping_maps(self):
        self.assertEqual(self.check_all(write("maps", *overlapping_maps(40000))), [])

    def test_nested_phases(self):
        self.assertEqual(self.check_all(write("pushes", *nested_phases(150000, MarkKind.PUSH))), [])
        self.assertEqual(self.check_all(write("starts", *nested_phases(100000, MarkKind.START))), [])

    def test_long_names_times_deep_stacks(self):
        path = write(
            "names",
            *python_stacks(300, 1000, b"n" * 30000, b"/f" * 5000),
            events(300, 1, address=addresses(300), frames=range(1, 301)),
        )
        self.assertLess(os.path.getsize(path), 81 << 10)
        self.assertIn(
            "report --json",
            self.check_all(
                path,
                "the end of the output",
                "the comparison of long names with suppressions",
                "the long names in some stacks of findings",
            ),
        )

    def test_refusals_times_deep_stacks(self):
        path = write(
            "refusals",
            *python_stacks(1, 1000, b"n" * 3000, b"/f" * 500),
            events(30000, 1, kind=Kind.ALLOC_FAILED, result=2, frames=1),
        )
        self.assertIn("report --json", self.check_all(path, "the end of the output"))

    def test_steps_times_devices(self):
        path = write("steps", *steps_of_devices(30000, 3000))
        for form in self.forms(path):
            code, out, errors = self.run_limited(*form)
            self.assertIn(code, (0, 1, 4), (form, errors))
            self.assertEqual(code == 4, LEFT_OUT in errors, (form, errors))
            if "--json" in form:
                json.loads(out)

    def test_objects_that_are_bound_in_a_chain_end_without_recursion(self):
        path = write("chain", *bound_in_a_chain(100000))
        self.assertEqual(self.check_all(path), [])
        self.assertEqual(cli.report(path)["anomalies"]["unknown_frees"], 0)

    def test_samples_of_many_devices(self):
        self.check_all(
            write("samples", *samples_of_devices(20000)),
            "the memory held at the last refusals and peaks",
            "the end of the output",
        )

    def test_contexts_that_end_while_blocks_of_others_live(self):
        self.check_all(write("contexts", *contexts_that_end(30000)), "the end of blocks whose context ended")

    def test_frees_that_name_no_pool_among_many_pools(self):
        self.check_all(
            write("pools", *pools_and_frees_of_none(50000)),
            "the search for pools whose blocks were freed without the pool's name",
        )

    def test_references_of_one_handle(self):
        self.assertEqual(
            self.check_all(
                write(
                    "retains",
                    events(1, 1, space=Space.VMM, address=5),
                    events(60000, 2, kind=Kind.RETAIN, space=Space.VMM, address=5),
                )
            ),
            [],
        )

    def test_marks_from_the_last_to_the_first(self):
        path = write(
            "marks",
            w.block("name", {"id": 1, "text": "x"}),
            many(
                "mark",
                100000,
                stamp=range(10**7, 10**7 - 100000, -1),
                thread=1,
                source=2,
                name=1,
                kind=[(MarkKind.START, MarkKind.STOP)[i % 2] for i in range(100000)],
                object=range(100000),
            ),
            events(1, 1, address=1),
        )
        self.assertEqual(self.check_all(path), [])


if __name__ == "__main__":
    cli.main()
