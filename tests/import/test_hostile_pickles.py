# SPDX-License-Identifier: MIT
"""Pickles that are damaged or hostile: `import` executes nothing, needs bounded memory and time, and says one line."""

import os
import pickle
import re
import struct
import subprocess
import unittest

import cli
import hostile_texts
import snapshots
from snapshots import BASE, BUILD, STEP, MiB, Snapshot

PROTO = b"\x80\x04"


def opcodes(macro):
    """Returns the rows of a macro in the table of opcodes."""
    rows = re.findall(
        rf"^{macro}\((0x\w\w|'.'), (\w+)", cli.read_source("src", "import", "pickle", "opcodes.def"), re.M
    )
    return {name: int(code, 16) if code.startswith("0x") else ord(code[1]) for code, name in rows}


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def small():
    """A snapshot with all kinds of events."""
    story = Snapshot()
    story.event("segment_alloc", BASE, 20 * MiB, BUILD)
    story.event("alloc", BASE, MiB, STEP, user_metadata={"step": 1})
    story.free(BASE, MiB, STEP)
    story.event("segment_map", BASE + 64 * MiB, 2 * MiB)
    story.event("oom", 1, 1 << 40, STEP)
    story.segment(BASE, [(0, MiB, STEP)])
    return story.value()


class Opcodes(unittest.TestCase):
    def test_the_table_has_all_opcodes_of_python(self):
        import pickletools

        ours = {}
        for macro in "GMT_OPCODE", "GMT_OPCODE_THAT_EXECUTES", "GMT_OPCODE_OF_TEXT", "GMT_OPCODE_OF_BUFFERS":
            ours.update(opcodes(macro))
        self.assertEqual(ours, {row.name: ord(row.code) for row in pickletools.opcodes})

    def test_what_could_execute_is_refused_by_name_and_position(self):
        executing = opcodes("GMT_OPCODE_THAT_EXECUTES")
        self.assertEqual(len(executing), 13)
        for name, code in executing.items():
            data = PROTO + text("os") + text("system") + bytes([code]) + b"os\nsystem\n."
            self.assertEqual(
                snapshots.refusal(snapshots.write("executes.pickle", data)),
                f"opcode {name} at byte 20 could execute code of the file: only plain data is read",
            )

    def test_a_class_is_not_imported(self):
        class Runs:
            def __reduce__(self):
                return os.system, (f"touch {cli.place('executed')}",)

        for protocol in range(2, 6):
            value = {**small(), "external_annotations": [Runs()]}
            refusal = snapshots.refusal(snapshots.write("runs.pickle", pickle.dumps(value, protocol)))
            self.assertRegex(refusal, r"^opcode (STACK_)?GLOBAL at byte \d+ could execute")
        self.assertFalse(os.path.exists(cli.place("executed")))

    def test_other_opcodes_are_refused(self):
        for name, code in opcodes("GMT_OPCODE_OF_TEXT").items():
            data = PROTO + bytes([code]) + b"1\n."
            self.assertIn(
                f"opcode {name} at byte 2 belongs to protocol 0",
                snapshots.refusal(snapshots.write("text.pickle", data)),
            )
        self.assertIn("outside of the file", snapshots.refusal(snapshots.write("b.pickle", PROTO + b"\x97.")))
        self.assertIn(
            "byte 2 (0xff) is not an opcode", snapshots.refusal(snapshots.write("b.pickle", PROTO + b"\xff."))
        )
        self.assertIn("cannot", snapshots.refusal(snapshots.write("six.pickle", b"\x80\x06N.")) + " cannot")

    def test_all_plain_values_are_read(self):
        values = [
            None, True, False, 0, 255, 65535, -1, 1 << 31, -(1 << 63), 1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 900),
            1.5, "", "é" * 300, b"x", b"y" * 300, bytearray(b"z"), [], [1], [1, 2], (), (1,), (1, 2), (1, 2, 3),
            (1, 2, 3, 4), {}, {1: 2}, {1: 2, 3: 4}, set(), {1, 2}, frozenset({1, 2}),
        ]  # fmt: skip
        circle = []
        circle.append(circle)
        for protocol in range(2, 6):
            # Older protocols need a class for sets and bytes.
            plain = [v for v in values if protocol >= 5 or not isinstance(v, bytearray)]
            plain = [v for v in plain if protocol >= 4 or not isinstance(v, (set, frozenset))]
            plain = [v for v in plain if protocol >= 3 or not isinstance(v, bytes)]
            data = pickle.dumps({**small(), "more": [plain, circle]}, protocol)
            snapshots.imported(snapshots.write("values.pickle", data))


class Damage(unittest.TestCase):
    def import_all(self, pickles):
        """Imports many files at once and returns the messages."""
        folder = cli.place("many")
        os.makedirs(folder, exist_ok=True)
        names = []
        for number, data in enumerate(pickles):
            names.append(os.path.join(folder, f"{number}.pickle"))
            with open(names[-1], "wb") as file:
                file.write(data)
        done = cli.run("import", "--force", *names, cwd=folder)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual(len((done.stdout + done.stderr).splitlines()), len(names))
        return done

    def test_a_file_that_is_cut_at_any_place(self):
        for protocol in 2, 4:
            data = pickle.dumps(small(), protocol)
            done = self.import_all(data[:at] for at in range(len(data)))
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), len(data))
            self.assertIn("the file ends without opcode STOP: it was cut", done.stderr)

    def test_a_file_with_other_bytes_at_any_place(self):
        data = pickle.dumps(small(), 4)
        for byte in 0x00, 0x28, 0x85, 0xFF:
            self.import_all(data[:at] + bytes([byte]) + data[at + 1 :] for at in range(2, len(data)))

    def test_stacks_that_do_not_fit(self):
        for body, why in (
            (b"a.", "opcode APPEND at byte 2 needs a value"),
            (b"(0.", "opcode POP at byte 3 needs a value"),
            (b"N(a.", "needs a value"),
            (b"e.", "needs a mark"),
            (b"NNs.", "needs a value"),
            (b"NNNs.", "adds to a value that takes no such items"),
            (b"}(Nu.", "has a key without a value"),
            (b"(Nd.", "has a key without a value"),
            (b"h\x05.", "needs a value"),
            (b"r\xff\xff\xff\x7f.", "needs a value"),
            (b"Nr\xff\xff\xff\xff.", "has a number that no pickler writes"),
            (b"NN.", "opcode STOP at byte 4 leaves 2 values"),
            (b"(N.", "leaves 1 values"),
            (b".", "leaves 0 values"),
            (b"X\xff\xff\xff\xffab.", "the file ends within opcode BINUNICODE at byte 2"),
            (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab.", "ends within opcode BINUNICODE8"),
            (b"\x8b\xff\xff\xff\xff.", "ends within opcode LONG4"),
            (b"\x80\x09N.", "names a protocol other than 2 to 5"),
        ):
            with self.subTest(body=body):
                self.assertIn(why, snapshots.refusal(snapshots.write("misfit.pickle", PROTO + body)))

    def test_values_that_are_no_snapshot(self):
        trace = {"action": "alloc", "addr": 1, "size": 1}
        for value, why in (
            (None, "not a memory snapshot"),
            ({}, "not a memory snapshot"),
            ([1, 2], "not a memory snapshot"),
            ({"segments": [3]}, "segments[0] is not a dictionary"),
            ({"segments": [{}]}, "segments[0] has no `address`"),
            ({"segments": [{"address": 1, "device": 5000}]}, "a device with number 5000"),
            ({"segments": [{"address": 1, "device": -1}]}, "a device with number"),
            ({"segments": [{"address": 1, "blocks": [7]}]}, "block 0 of segments[0] is not a dictionary"),
            ({"device_traces": [[], [None]]}, "event 0 of device_traces[1] is not a dictionary"),
            ({"device_traces": [[{}]]}, "event 0 of device_traces[0] has no `action`"),
            ({"device_traces": [[{"action": "alloc"}]]}, "has no `addr`"),
            ({"device_traces": [[{**trace, "addr": "x"}]]}, "`addr` is not a number"),
            ({"device_traces": [[{**trace, "size": 1 << 80}]]}, "`size` is not a number"),
            ({"device_traces": [[{**trace, **{str(i): i for i in range(99)}}]]}, "has more than 64 keys"),
        ):
            with self.subTest(value=str(value)[:60]):
                self.assertIn(why, snapshots.refusal(snapshots.write("value.pickle", pickle.dumps(value))))

    def test_values_of_other_kinds_are_ignored(self):
        for value in (
            {"segments": None, "device_traces": 7},
            {"segments": [], "device_traces": [None, 3, "x"], "allocator_settings": []},
            {"device_traces": [[{"action": "alloc", "addr": 1, "size": 1, "frames": [1, None, {"line": "x"}, {}]}]]},
            {"device_traces": [[{"action": "new action", "addr": 1, "size": 1, "user_metadata": [1]}]]},
            {"device_traces": [[{"action": "alloc", "addr": -1, "size": -1, "time_us": 1.5, "stream": None}]]},
            {"device_traces": [[{"action": "segment_map", "addr": (1 << 64) - 5, "size": 1 << 63}]]},
        ):
            with self.subTest(value=str(value)):
                path = snapshots.imported(snapshots.write("odd.pickle", pickle.dumps(value)))
                self.assertEqual(cli.run("report", "--full", path).returncode, 0)


class Size(unittest.TestCase):
    """Small files that try to need much memory or time."""

    def run_limited(self, data, *words):
        path = snapshots.write("large.pickle", data)
        # The bytes of the file are in memory, too.
        done = cli.run(
            f"--max-memory={64 + 40 * (len(data) >> 20)}MiB", "import", "--force", "-o", cli.place("large.gmt.gz"), path
        )
        self.assertIn(done.returncode, (0, 3))
        self.assertLessEqual(len(done.stderr.splitlines()), 1)
        return done

    def test_deep_nesting(self):
        depth = 2_000_000
        for body in (
            b"(" * depth,
            b"]" * depth + b"a" * (depth - 1),
            b"N" + b"\x85" * depth,
            b"(" * depth + b"t" * depth,
        ):
            self.assertEqual(self.run_limited(PROTO + body + b".").returncode, 3)
        # A list in a list in ... is a value of its metadata.
        nested = b"]" + b"]" * 100_000 + b"a" * 100_000
        data = (
            PROTO + b"}(" + text("device_traces") + b"](](}("
            + text("action") + text("alloc") + text("addr") + b"K\x01" + text("size") + b"K\x01"
            + text("user_metadata") + b"}(" + text("deep") + nested + b"u" + text("frames") + nested + b"ueeu."
        )  # fmt: skip
        self.assertEqual(self.run_limited(data).returncode, 0)

    def test_many_references_to_one_value(self):
        inner = PROTO + b"}(" + text("device_traces") + b"](](}(" + text("action") + text("snapshot") + b"uq\x07"
        events = inner + b"h\x07" * 100_000 + b"eq\x08"
        # 100,000 events in each of 1,000 traces.
        done = self.run_limited(events + b"h\x08" * 999 + b"eu.")
        self.assertIn("lists the same events or blocks more often", done.stderr)
        self.assertEqual(self.run_limited(events + b"eu.").returncode, 0)

    def test_one_stack_with_many_frames_for_many_events(self):
        frames = [snapshots.frame("f" * 100, line=number) for number in range(20000)]
        story = Snapshot()
        for number in range(5000):
            story.event("alloc", BASE + number, 1, frames)
        done = self.run_limited(pickle.dumps(story.value()))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_many_small_parts_of_segments(self):
        story = Snapshot()
        for number in range(20000):
            story.event("segment_map", BASE + number, 1 << 30)
        done = self.run_limited(pickle.dumps(story.value()))
        self.assertIn("mapped more often than a file of this size may cause", done.stderr)

    def test_memory_that_is_limited_is_one_line(self):
        data = pickle.dumps([[] for _ in range(3_000_000)])
        path = snapshots.write("memory.pickle", data)
        done = cli.run("--max-memory=32MiB", "import", "-o", cli.place("memory.gmt.gz"), path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("out of memory", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


class Texts(hostile_texts.SafeOutput):
    def test_texts_of_the_file_cannot_command_a_terminal(self):
        story = Snapshot()
        for number, raw in enumerate(hostile_texts.HOSTILE):
            hostile = raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
            story.event(
                "alloc", BASE + number * MiB, MiB, [snapshots.frame(hostile, hostile + ".py", 7)], user_metadata=hostile
            )
        path = snapshots.imported(story.write("hostile-texts.pickle"))
        for verb in ["report"], ["report", "--full"], ["leaks"], ["info"], ["tree"], ["dump"], ["check"]:
            done = cli.run(*verb, path, text=False)
            self.assertIn(done.returncode, (0, 1))
            self.check(done.stdout, True)

    def test_names_of_files_are_safe_in_messages(self):
        name = os.path.join(cli.FOLDER.encode(), hostile_texts.FILE_NAME.replace(b"/", b""))
        for data in b"nothing", pickle.dumps(small()):
            with open(name, "wb") as file:
                file.write(data)
            for words in [b"--force", b"--", name], [b"--force", b"-o", name + b"x", b"--", name]:
                done = subprocess.run([cli.CLI, b"import", *words], capture_output=True, cwd=cli.FOLDER, check=False)
                self.check(done.stdout, True)
                self.check(done.stderr, True)
                self.assertEqual(done.returncode, 3 if data == b"nothing" else 0, done.stderr)


if __name__ == "__main__":
    cli.main()
