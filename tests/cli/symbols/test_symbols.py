# SPDX-License-Identifier: MIT
"""Names and lines of native addresses equal those of addr2line, and the reader finds moved files by build-id."""

import os
import re
import shutil
import struct
import subprocess
import unittest

import cli
import write_recording as w

# The program under test has lines, inlined functions and many units.
PROGRAM = cli.CLI
BIAS = 0x7F0000000000


def tool(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    except FileNotFoundError as error:
        raise unittest.SkipTest(f"no {error.filename} on this machine") from error


def build_id(path):
    return re.search(r"Build ID: (\w+)", tool("readelf", "-n", path)).group(1)


def text_range(path):
    line = re.search(r"\.text\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)", tool("readelf", "-SW", path))
    return int(line.group(1), 16), int(line.group(1), 16) + int(line.group(2), 16)


def addresses(path, count):
    start, end = text_range(path)
    return range(start + 64, end - 64, max((end - start) // count, 1))


def frames_of(where, path, identity, *arguments):
    """Returns the report's frames for each address in `where`: [(function, file name, line)], leaf first."""
    recording = cli.place("symbols.gmt.gz")
    w.write(
        recording,
        w.process(),
        w.block(
            "module",
            {"id": 1, "start": BIAS, "end": BIAS + (1 << 40), "bias": BIAS, "path": path, "build_id": identity},
        ),
        # A stack holds return addresses: one byte behind the address in question.
        *[w.block("stack", {"id": i + 1, "items": [BIAS + address + 1]}) for i, address in enumerate(where)],
        # Each block has its own device, so that the report shows the stack of each block.
        *[
            w.block(
                "event",
                {
                    **w.EVENT,
                    "stamp": 2000 + i,
                    "address": 4096 * (i + 1),
                    "size_bytes": 1 << 20,
                    "device": i,
                    "stack": i + 1,
                },
            )
            for i in range(len(where))
        ],
        w.end(len(where)),
    )
    report = cli.report(recording, *arguments)
    by_device = {site["device"]: site["stack"] for site in report["sites"]}
    # A function without a name gets its file's name. Here the file has several names.
    return report, [
        [
            (re.sub(r"^.*(?=\+0x)", "", frame["function"]), os.path.basename(frame["file"] or "?"), frame["line"])
            for frame in by_device[i]
        ]
        for i in range(len(where))
    ]


def addr2line(where, path):
    lines = tool("addr2line", "-a", "-f", "-i", "-e", path, *map(hex, where)).splitlines()
    answers = []
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            answers.append([])
        else:
            answers[-1].append(line)
    return [
        [
            (function, os.path.basename(place.split(":")[0]), int(re.search(r":(\d+)", place).group(1)))
            if re.search(r":\d+", place)
            else (function, "?", None)
            for function, place in zip(answer[::2], answer[1::2])
        ]
        for answer in answers
    ]


def file_and_line(address, path):
    """Returns the row of the line table for an address, as readelf decodes it."""
    rows = re.findall(r"^(\S+) +(\d+) +(0x[0-9a-f]+)", tool("readelf", "-wL", path), re.M)
    below = [(int(at, 16), number) for number, (_, _, at) in enumerate(rows) if int(at, 16) <= address]
    file, line, _ = rows[max(below)[1]]
    return file, int(line)


class Symbols(unittest.TestCase):
    def test_functions_lines_and_inlined_frames_equal_those_of_addr2line(self):
        where = addresses(PROGRAM, 1500)
        report, shown = frames_of(where, PROGRAM, build_id(PROGRAM))
        truth = addr2line(where, PROGRAM)
        same = inlined = padding = 0
        for address, one, other in zip(where, shown, truth):
            # The report shows a compiler's part of a function (.cold, .part.0) as the function.
            other = [(re.sub(r"\..*", "", function), file, line) for function, file, line in other]
            # addr2line names the file of the unit for a function that a header defines. The line table knows better.
            if one != other and [(f, line) for f, _, line in one] == [(f, line) for f, _, line in other]:
                self.assertEqual(one[0][1:], file_and_line(address, PROGRAM))
                other = one
            same += one == other
            inlined += one == other and len(one) > 1
            # The padding between two functions belongs to neither. addr2line names the first function.
            padding += one != other and one[0][0].startswith("+0x")
        print(f"# {same} of {len(shown)} equal, {inlined} with inlined frames, {padding} between functions")
        self.assertEqual(same + padding, len(shown))
        self.assertGreater(inlined, 20)
        self.assertLess(padding, 0.05 * len(shown))
        self.assertEqual(report["symbols"]["addresses"], len(shown))

    def move(self):
        """Splits the program into a stripped copy and a debug file, both outside of the recorded folder."""
        folder = cli.place(self.id().split(".")[-1])
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        stripped, debug = os.path.join(folder, "stripped"), os.path.join(folder, "program.debug")
        tool("objcopy", "--only-keep-debug", PROGRAM, debug)
        tool("strip", "-o", stripped, PROGRAM)
        return folder, stripped, debug

    def test_a_stripped_program_gets_names_and_lines_from_its_debug_file(self):
        _folder, stripped, debug = self.move()
        where, identity = addresses(PROGRAM, 200), build_id(PROGRAM)
        _, full = frames_of(where, PROGRAM, identity)
        report, bare = frames_of(where, stripped, identity)
        self.assertNotEqual(bare, full)
        self.assertEqual(report["symbols"]["with_line"], 0)

        symbols = cli.place("symbol-folder")
        target = os.path.join(symbols, ".build-id", identity[:2], identity[2:] + ".debug")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(debug, target)
        self.assertEqual(frames_of(where, stripped, identity, f"--symbol-path={symbols}")[1], full)

    def test_any_file_below_the_symbol_path_with_the_build_id_is_used(self):
        folder, stripped, debug = self.move()
        where, identity = addresses(PROGRAM, 200), build_id(PROGRAM)
        _, full = frames_of(where, PROGRAM, identity)
        deep = os.path.join(folder, "a", "b", "c")
        os.makedirs(deep)
        shutil.move(debug, os.path.join(deep, "whatever"))
        os.symlink("..", os.path.join(deep, "circle"))
        os.unlink(stripped)
        self.assertEqual(frames_of(where, "/gone/program", identity, f"--symbol-path={folder}")[1], full)

    def test_a_wrong_or_missing_table_of_units_changes_nothing(self):
        where, identity = addresses(PROGRAM, 300), build_id(PROGRAM)
        _, full = frames_of(where, PROGRAM, identity)
        path, content = cli.place("other-table"), cli.place("aranges")
        tool("objcopy", "--remove-section=.debug_aranges", PROGRAM, path)
        self.assertEqual(frames_of(where, path, identity)[1], full)

        tool("objcopy", f"--dump-section=.debug_aranges={content}", "--decompress-debug-sections", PROGRAM, path)
        with open(content, "rb") as file:
            table = bytearray(file.read())
        at = units = 0
        while at < len(table):
            length, _version, _unit = struct.unpack_from("<IHI", table, at)
            # All addresses now belong to the first unit.
            struct.pack_into("<I", table, at + 6, 0)
            at, units = at + 4 + length, units + 1
        self.assertGreater(units, 20)
        with open(content, "wb") as file:
            file.write(table)
        tool("objcopy", f"--update-section=.debug_aranges={content}", path)
        self.assertEqual(frames_of(where, path, identity)[1], full)

    def test_another_build_of_the_program_is_never_used(self):
        where = addresses(PROGRAM, 20)
        report, shown = frames_of(where, PROGRAM, "00" * 20)
        self.assertEqual(report["symbols"]["named"], 0)
        self.assertEqual(
            report["symbols"]["missing"], [{"module": PROGRAM, "why": "its build differs from the recorded one"}]
        )
        self.assertEqual(shown[0], [(f"+{where[0]:#x}", "?", None)])

    def test_a_large_library_is_read_in_little_time(self):
        _, shown = frames_of(addresses(PROGRAM, 20000)[:8000], PROGRAM, build_id(PROGRAM))
        self.assertEqual(len(shown), 8000)


if __name__ == "__main__":
    cli.main()
