# SPDX-License-Identifier: MIT
"""Makes recordings in which every text is hostile, and checks that the output cannot command a terminal or a CI job."""

import glob
import os
import struct
import unicodedata
import unittest
import zlib
from itertools import groupby

import cli
import read_recording
import write_recording as w

SEEDS = os.path.join(cli.TESTS, "fuzz", "corpus", "recording")

# They command terminals (C0, DEL, C1 alone and in UTF-8), reverse or hide text, or are invalid or overlong UTF-8.
# Others end a line, a string, an attribute, a comment, a cell or a quoted argument, or are commands in a job's log.
HOSTILE = (
    b"\x1b[2J\x1b]0;t\x07",
    b"\x9b31m",
    "\x9b31m".encode(),
    b"\x7f\x08\x00x",
    "\u202egnp.exe\u2066".encode(),
    "\u200b\u2028\ufeff\U000e0041".encode(),
    b"\xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80\xff\xfe",
    b"\n::error file=x::y\n##[error]z",
    b"\r\n::set-output name=x::y",
    b"%0A::error::x",
    b"]]>--><x a='\"&amp;",
    b"'; touch pwned; $(touch pwned) `touch pwned` \\",
    b"| [a](javascript:b) | <script>c</script> @everyone",
    b"::error::start",
    b" ##[command]x",
)
HIDDEN = set("\u202e\u2066\u200b\u2028\ufeff\U000e0041\ufffe\uffff")
FILE_NAME = b"-x\x1b[2J'; touch pwned #\n::error::\xff\xc2\x9b.gmt.gz"


def write_content(content, path):
    """Writes the content of a recording to `path` with correct checksums."""
    out, at = bytearray(w.header()), 20
    while len(content) - at >= 16:
        kind, rows, size = struct.unpack("<III", content[at : at + 12])
        payload = content[at + 16 : at + 16 + size]
        out += w.raw_block(kind, rows, payload)
        at += 16 + size
    w.write(path, bytes(out[20:]))


def read_content(content, path):
    """Writes the content of a recording to `path` with correct checksums, and returns its rows."""
    write_content(content, path)
    return read_recording.read(path)


class TextReplacer:
    """Puts a hostile text, each time another one, into each text of rows."""

    def __init__(self):
        self.count = 0

    def text(self, value, is_whole):
        """Returns a hostile text. It replaces the value if `is_whole`; otherwise it precedes or follows the value."""
        self.count += 1
        hostile = HOSTILE[self.count % len(HOSTILE)]
        value = value.encode() if isinstance(value, str) else bytes(value)
        return hostile if is_whole else value + hostile if self.count % 3 else hostile + value

    def rows(self, name, rows):
        fields = dict((field, encoding) for field, encoding, _bits in read_recording.RECORDS[w.NUMBERS[name]][1])
        whole = name in ("note", "drop", "thread", "device")
        for row in rows:
            yield {
                field: self.text(value, whole) if fields.get(field) == "S" else value
                for field, value in row.items()
                if field != "record"
            }


def make_all():
    """Returns paths of recordings with hostile texts, made from the seeds with the most kinds of records."""
    paths, kinds = [], {}
    for number, seed in enumerate(sorted(glob.glob(os.path.join(SEEDS, "*")), key=os.path.getsize)):
        path = cli.place(f"hostile-{number}.gmt.gz")
        with open(seed, "rb") as file:
            content = file.read()
        try:
            rows = list(read_content(content, path))
        except (read_recording.Damage, ValueError, KeyError, zlib.error):
            continue
        kinds[path] = ({row["record"] for row in rows}, rows)
    chosen, seen = sorted(kinds, key=lambda path: (-len(kinds[path][0]), len(kinds[path][1]))), set()
    for path in chosen:
        if len(paths) >= 6 and kinds[path][0] <= seen:
            continue
        seen |= kinds[path][0]
        replacer = TextReplacer()
        w.write(
            path,
            *(
                w.block(name, *replacer.rows(name, group))
                for name, group in groupby(kinds[path][1], key=lambda row: row["record"])
            ),
        )
        paths.append(path)
    replacer = TextReplacer()
    w.write(
        paths[0] + ".more.gmt.gz",
        w.process(
            **{
                field: replacer.text("x", True)
                for field in ("host", "executable", "command", "directory", "recorder_version", "machine")
            }
        ),
        w.block("option", {"key": HOSTILE[0], "value": HOSTILE[13]}),
        w.block("unhooked", {"name": HOSTILE[13], "route": HOSTILE[0]}),
        w.end(0),
    )
    return paths + [paths[0] + ".more.gmt.gz"]


class SafeOutput(unittest.TestCase):
    def check(self, output, is_log=True):
        """Checks that `output` has no control characters and, if `is_log`, no line that commands a CI job."""
        text = output.decode("utf-8")  # raises an exception if it is not UTF-8
        for character in set(text) - {"\n"}:
            self.assertFalse(
                unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in HIDDEN,
                f"{character!r} in {text[:4000]!r}",
            )
        self.assertNotIn("##[", text)
        for line in text.splitlines() if is_log else ():
            self.assertFalse(line.lstrip().startswith("::"), line)
