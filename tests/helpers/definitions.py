# SPDX-License-Identifier: MIT
"""Reads numbers and texts of recordings from the tables (*.def) that the C code includes too.

    from definitions import Kind, Layer, Space
    Kind.ALLOC              the number of that kind of event
    Space.names[4]          "pinned": the name of a space by its number

docs/internals/recording-format.md lists the same numbers; tests/cli/dump/test_format.py compares it with these tables.
"""

import os
import re

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows(path, macro):
    """Returns the arguments of each row of a table, as text. `path` is relative to src."""
    with open(os.path.join(SOURCE, "src", *path.split("/")), encoding="utf-8") as file:
        found = re.findall(rf"^{macro}\((.*)\)", file.read(), re.M)
    assert found, (path, macro)
    return [[part.strip().strip('"') for part in re.findall(r'"[^"]*"|[^,"]+', row) if part.strip()] for row in found]


class Numbers:
    """One attribute for each row (NUMBER, NAME, "name", ...) of a table."""

    def __init__(self, path, macro):
        self.names, self.rows = {}, {}
        for number, name, *more in rows(path, macro):
            setattr(self, name, int(number))
            self.names[int(number)] = more[0]
            self.rows[int(number)] = more

    @property
    def numbers(self):
        """Returns the number of each name."""
        return {name: number for number, name in self.names.items()}


class Texts:
    """One attribute for each row (NAME, "text", ...) of a table."""

    def __init__(self, path, macro):
        self.all = [text for _, text, *_ in rows(path, macro)]
        for name, text, *_ in rows(path, macro):
            setattr(self, name, text)


Kind = Numbers("format/event_kinds.def", "GMT_KIND")
Layer = Numbers("format/layers.def", "GMT_LAYER")
Space = Numbers("format/spaces.def", "GMT_SPACE")
MarkKind = Numbers("format/mark_kinds.def", "GMT_MARK_KIND")
MarkSource = Numbers("format/mark_sources.def", "GMT_MARK_SOURCE")
SamplePart = Numbers("format/sample_parts.def", "GMT_SAMPLE_PART")
Loss = Texts("format/losses.def", "GMT_LOSS")
Drop = Texts("shared_memory/drop_reasons.def", "GMT_DROP")
LEDGER_LINES = [name for _, name, _ in rows("analysis/ledger/ledger_lines.def", "GMT_LEDGER_LINE")]
# Maps the number of a space to the number of its layer.
LAYER_OF_SPACE = {number: getattr(Layer, layer) for number, (_, _, layer, *_) in Space.rows.items()}
HOST_SPACES = {number for number, (_, side, *_) in Space.rows.items() if side == "HOST"}
