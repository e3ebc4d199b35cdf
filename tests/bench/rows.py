# SPDX-License-Identifier: MIT
"""Computes and prints the rows of scripts/bench's tables from samples. Other files measure."""

import dataclasses
import statistics

# The smallest overheads that these measurements can distinguish. Ratios divide by at least these.
MIN_PERCENT, MIN_NS = 0.1, 1


@dataclasses.dataclass
class Row:
    """One line of the table: a figure, and the goal that it is compared with (or None)."""

    section: str
    what: str
    unit: str = ""
    low: float | None = None  # the minimum of all samples; None: not measured, and `note` says why
    middle: float | None = None  # the median of all samples
    compared: str = ""  # describes the comparison, when `figure` is one
    figure: float | None = None  # the value that the goal limits; None: `low` itself
    figure_unit: str = ""
    middle_figure: float | None = None
    goal: float | None = None  # the largest value that meets the goal
    at_least: bool = False  # `goal` is the smallest value instead
    note: str = ""
    samples: list = dataclasses.field(default_factory=list)

    @property
    def met(self):
        value = self.low if self.figure is None else self.figure
        if self.goal is None or value is None:
            return None
        return value >= self.goal if self.at_least else value <= self.goal


def row_of(section, what, unit, samples, **more):
    """Returns a row with the minimum and the median of the samples."""
    return Row(section, what, unit, min(samples), statistics.median(samples), samples=samples, **more)


def memory_row(section, what, mebibytes, goal=None):
    """Returns a row whose goal limits the maximum of the samples."""
    return Row(section, what, "MiB", max(mebibytes), statistics.median(mebibytes), goal=goal, samples=mebibytes)


def slower_percent(samples, plain):
    """Returns how many percent slower `samples` are: the ratio of the minima, and the median ratio of the cycles.

    In each cycle the two ran one after the other.
    """
    lows = min(samples) / min(plain)
    pairs = statistics.median(a / b for a, b in zip(samples, plain))
    return (lows - 1) * 100, (pairs - 1) * 100


def added(samples, plain, count=1):
    """Returns what one operation adds to `plain`: the difference of the minima, and the median over cycles.

    A sample holds `count` operations.
    """
    lows = (min(samples) - min(plain)) / count
    return lows, statistics.median((a - b) / count for a, b in zip(samples, plain))


def times(dear, cheap, least):
    """Returns dear / cheap for the minima and for the pairs. Divides by `least` where `cheap` is smaller."""
    return tuple(a / max(b, least) for a, b in zip(dear, cheap))


def compare(section, unit, samples, goals, compared="slower"):
    """Returns a row for each variant, compared with the first variant, in percent."""
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
    """Returns the rows as text, with a heading for each section."""
    table = [("run", "min", "median", "compared as", "of minima", "of pairs", "goal", ""), *map(cells_of, rows)]
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
    """Returns the rows as Markdown for docs/internals/performance, with a table for each section."""
    lines, section = [], None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += [
                "",
                f"**{section}**",
                "",
                "| run | min | median | compared as | of minima | of pairs | goal |",
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
