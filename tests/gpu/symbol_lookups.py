# SPDX-License-Identifier: MIT
"""Checks look-ups of the driver's functions, without the recorder and with it (symbol_lookups.c prints their results)."""

import os
import sys

from runner import SOURCE

sys.path.append(os.path.join(SOURCE, "scripts"))
import cuda_functions

LEGACY, PER_THREAD = "LEGACY", "PTDS"
PER_THREAD_FLAG = "2"
ROUTES = {
    "proc_address": "cuGetProcAddress",
    "proc_address_v2": "cuGetProcAddress_v2",
    "entry_point": "cudaGetDriverEntryPoint",
    "entry_point_by_version": "cudaGetDriverEntryPointByVersion",
}


def driver_rows():
    """Returns (symbol, base, since, mode) of the driver's rows in hooks.def."""
    return [(row.symbol, row.base, row.since, row.mode) for row in cuda_functions.rows() if row.library == "CUDA"]


def expected_row(rows, base, version, flags):
    """Returns the symbol of the row that the driver must select for this version and these flags, or None."""
    known = [row for row in rows if row[1] == base and row[2] <= version]
    if flags == PER_THREAD_FLAG:
        known = [row for row in known if row[3] == PER_THREAD] or known
    else:
        known = [row for row in known if row[3] == LEGACY]
    return max(known, key=lambda row: row[2])[0] if known else None


class LookUps:
    """The output of symbol_lookups.c.

    `exports` is {symbol: (place, name)}, `answers` is {(route, base, version, flags): (result, place, name)}.
    """

    def __init__(self, text):
        self.exports, self.answers, self.version = {}, {}, 0
        for words in map(str.split, text.splitlines()):
            if words[0] == "driver":
                self.version = int(words[1])
            elif words[0] == "export":
                self.exports[words[1]] = tuple(words[2:4])
            else:
                self.answers[words[0], words[1], int(words[2]), words[3]] = (int(words[4]), words[5], words[6])


def text_of(question):
    _, base, version, flags = question
    return f"{base} of {version or 'no version'}, flags {flags}"


def check_plain(table, rows, plain, routes):
    """Checks that without the recorder the answers are the exported functions of the rows. Lists all exceptions."""
    symbols = {row[0] for row in rows}
    missing = sorted(symbol for symbol, (place, _) in plain.exports.items() if place == "none")
    for route, name in routes.items():
        wrong, different, newer, silent, asked = [], [], [], [], 0
        for question, (result, place, answer) in plain.answers.items():
            if question[0] != route:
                continue
            row = expected_row(rows, question[1], question[2], question[3])
            if place == "none":
                if row and question[2] <= plain.version and row not in missing:
                    silent.append(f"{text_of(question)} ({row}): {result}")
                continue
            asked += 1
            if answer in symbols:
                if question[2] and answer != row:
                    wrong.append(f"{text_of(question)} is {answer}, by the rows {row or 'not there yet'}")
            elif answer == "-":
                different.append(f"{text_of(question)} ({row})")
            else:
                newer.append(f"{text_of(question)} is {answer}")
        if not asked:
            table.add(
                f"{name} gives the exported function of the row", "skipped", "it does not exist, or finds nothing"
            )
            continue
        table.judge(
            f"{name} gives the exported function of the row",
            wrong,
            f"{asked} answers, {len(different) + len(newer)} of them no exports of rows",
            answers=asked,
            not_exported=different,
            without_row=newer,
            not_answered=silent,
        )
        if silent:
            table.add(f"{name} does not answer, though the function is exported", "noted", "; ".join(silent[:12]))
        if different:
            table.add(f"{name} also gives functions that are not exported", "noted", "; ".join(different[:12]))
        if newer:
            table.add(f"{name} also gives forms without a row", "noted", "; ".join(newer[:12]))
    if missing and "proc_address" in routes:
        table.add("hooked functions that this driver does not have", "noted", ", ".join(missing))


def check_hooked(table, rows, plain, hooked, routes):
    """Checks that with the recorder, each answer is the wrapper of the function that the driver answers without it."""
    symbols = {row[0] for row in rows}
    if "proc_address" in routes:
        wrong = [
            f"{symbol}: {place}, {name}"
            for symbol, (place, name) in hooked.exports.items()
            if (place, name) != (("none", "-") if plain.exports[symbol][0] == "none" else ("shim", symbol))
        ]
        table.judge(
            "dlsym gives the recorder's wrapper of each function that the driver has, and of no other function",
            wrong,
            f"{len(hooked.exports)} names",
        )
    for route, name in routes.items():
        wrong, asked = [], 0
        for question, (result, place, answer) in plain.answers.items():
            if question[0] != route:
                continue
            asked += place != "none"
            if place == "none" or (answer not in symbols and answer != "-"):
                expected = (result, place, answer)
            elif answer == "-":
                row = expected_row(rows, question[1], question[2] or plain.version, question[3])
                expected = (0, "shim", row) if row else (result, place, answer)
            else:
                expected = (0, "shim", answer)
            found = hooked.answers.get(question)
            if found != expected:
                wrong.append(f"{text_of(question)}: {found} instead of {expected}")
        if asked:
            table.judge(
                f"{name} gives the recorder's wrapper of the same function", wrong, f"{asked} answers", answers=asked
            )


def check_lookups(runner, table, runtimes):
    rows = driver_rows()
    # The simulated driver gets a version that is new enough for all rows.
    machine = {"SIMCUDA_DRIVER_VERSION": "13040"} if runner.is_simulated else {}
    routes = ROUTES
    for major in sorted(runtimes, reverse=True) or [None]:
        tail = [runtimes[major]] if major else []
        if major:
            table.add(
                "the runtime that is queried, in addition to the driver", "noted", os.path.basename(runtimes[major])
            )
        plain = runner.run([runner.program("symbol-lookups"), "", *tail], **machine)
        if plain.code:
            table.add("look-ups in the driver work", "FAILED", plain.why())
            continue
        recorded = runner.run(
            [runner.program("symbol-lookups"), runner.shim, *tail], name=f"symbol-lookups-{major}", **machine
        )
        before, after = LookUps(plain.out), LookUps(recorded.out)
        check_plain(table, rows, before, routes)
        if recorded.code or len(after.answers) != len(before.answers):
            table.add("look-ups in the driver work with the recorder", "FAILED", recorded.why())
        else:
            check_hooked(table, rows, before, after, routes)
        routes = {route: name for route, name in ROUTES.items() if route.startswith("entry")}
