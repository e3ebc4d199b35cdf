# SPDX-License-Identifier: MIT
"""The lines of scripts/bench's tables: figures from samples, and how they are printed. Nothing here measures."""

import dataclasses
import statistics

# An overhead of less is none that these measurements could tell from another; what is divided by it is said no larger.
LEAST_PERCENT, LEAST_NS = 0.1, 1


@dataclasses.dataclass
class Row:
    """One line of the table: a figure, and the goal that it is held against (or None)."""

    section: str
    what: str
    unit: str = ""
    low: float | None = None  # the least of all samples; None: not measured, and `note` says why
    middle: float | None = None  # their median
    compared: str = ""  # with what, in words, when `figure` is a comparison
    figure: float | None = None  # what the goal is about; None: `low` itself
    figure_unit: str = ""
    middle_figure: float | None = None
    goal: float | None = None  # at most this
    at_least: bool = False  # at least this instead
    note: str = ""
    samples: list = dataclasses.field(default_factory=list)

    @property
    def met(self):
        value = self.low if self.figure is None else self.figure
        if self.goal is None or value is None:
            return None
        return value >= self.goal if self.at_least else value <= self.goal


def row_of(section, what, unit, samples, **more):
    """A line of samples: the least, and the median."""
    return Row(section, what, unit, min(samples), statistics.median(samples), samples=samples, **more)


def memory_row(section, what, mebibytes, goal=None):
    """The most that it took is what a goal is about."""
    return Row(section, what, "MiB", max(mebibytes), statistics.median(mebibytes), goal=goal, samples=mebibytes)


def slower_percent(samples, plain):
    """Of the minima; and the median over cycles, in each of which the two ran one after the other."""
    lows = min(samples) / min(plain)
    pairs = statistics.median(a / b for a, b in zip(samples, plain))
    return (lows - 1) * 100, (pairs - 1) * 100


def added(samples, plain, count=1):
    """What is more than `plain`, of which `count` make a sample: of the minima, and the median over cycles."""
    lows = (min(samples) - min(plain)) / count
    return lows, statistics.median((a - b) / count for a, b in zip(samples, plain))


def times(dear, cheap, least):
    """How many times as much the first of two (of minima, of pairs) is; what is below `least` counts as that."""
    return tuple(a / max(b, least) for a, b in zip(dear, cheap))


def compare(section, unit, samples, goals, compared="slower"):
    """A row for each variant, held against the first one, in percent."""
    plain = next(iter(samples))
    rows = []
    for variant, values in samples.items():
        row = row_of(section, variant, unit, values)
        if variant != plain:
            row.compared = compared
            row.figure, row.middle_figure = slower_percent(values, samples[plain])
            row.figure_unit, row.goal = "%", goals.get(variant)
        rows.append(row)
    return rows


def number(value):
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def with_unit(value, unit):
    return "" if value is None else f"{number(value)} {unit}"


def signed(value, unit):
    return "" if value is None else f"{value:+.1f} {unit}" if unit == "%" else f"{number(value)} {unit}"


def cells_of(row):
    verdict = {None: "", True: "met", False: "NOT MET"}[row.met]
    unit = row.unit if row.figure is None else row.figure_unit
    goal = "" if row.goal is None else f"{'>=' if row.at_least else '<='} {row.goal:,} {unit}"
    return (
        row.what,
        with_unit(row.low, row.unit),
        with_unit(row.middle, row.unit),
        row.compared,
        signed(row.figure, row.figure_unit),
        signed(row.middle_figure, row.figure_unit),
        goal,
        verdict,
    )


def table_of(rows):
    """The rows as text, with a heading where their section changes."""
    table = [("", "min", "median", "", "of minima", "of pairs", "goal", ""), *map(cells_of, rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    lines, section = [], None
    for row, cells in zip([None, *rows], table):
        if row and row.section != section:
            section = row.section
            lines += ["", section]
        first, *rest = (
            cell.ljust(width) if i in (0, 3, 6) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths))
        )
        line = f"  {first}  {row.note}" if row and row.note else f"  {first}  {'  '.join(rest)}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def markdown_of(rows):
    """The same for docs/internals/performance.md: a table for each section."""
    lines, section = [], None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += [
                "",
                f"**{section}**",
                "",
                "| | min | median | | of minima | of pairs | goal |",
                "|---|---|---|---|---|---|---|",
            ]
        what, low, middle, compared, figure, middle_figure, goal, verdict = cells_of(row)
        cells = [
            what,
            row.note or low,
            middle,
            compared,
            figure,
            middle_figure,
            f"{goal}: {verdict}" if verdict else goal,
        ]
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(lines)
