# SPDX-License-Identifier: MIT
"""The program's output with --json, as immutable objects. `raw` has all fields, also those of newer versions."""

from __future__ import annotations

import dataclasses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, TypeVar

    Made = TypeVar("Made")

_RAW: Any = dataclasses.field(repr=False, compare=False, default_factory=dict)


def _make(kind: type[Made], raw: dict[str, Any], **values: Any) -> Made:
    """Makes an object of a dataclass from the members of `raw` with the names of its fields, and from `values`.

    A member that `raw` lacks is None.
    """
    members = {field.name: raw.get(field.name) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{**members, **values, "raw": raw})


@dataclasses.dataclass(frozen=True)
class Frame:
    """A line of a stack."""

    kind: str  # "python" or "native"
    function: Optional[str]
    file: Optional[str] = None
    line: Optional[int] = None
    library: Optional[str] = None  # path of the program or library of a native frame
    raw: dict[str, Any] = _RAW

    def __str__(self) -> str:
        place = self.file or self.library or "?"
        return f"{place}:{self.line} in {self.function}" if self.line else f"{place} in {self.function}"


def _frames(raw: dict[str, Any]) -> tuple[Frame, ...]:
    return tuple(_make(Frame, one, library=one.get("module")) for one in raw.get("stack", ()))


def _with_stack(kind: type[Made], raw: dict[str, Any]) -> Made:
    """Makes an object of a dataclass that has a stack, and the frame by which the user knows the stack."""
    stack, number = _frames(raw), raw.get("own_frame")
    own_line = stack[number] if number is not None and number < len(stack) else None
    return _make(kind, raw, own_line=own_line, stack=stack)


def _all_with_stacks(kind: type[Made], rows: list[dict[str, Any]]) -> tuple[Made, ...]:
    return tuple(_with_stack(kind, row) for row in rows)


@dataclasses.dataclass(frozen=True)
class Totals:
    """The memory of one layer on one device. `device` None: host memory."""

    layer: str
    device: Optional[int]
    live_bytes: int  # at the end of the program's work
    live_blocks: int
    peak_bytes: int
    peak_blocks: int
    peak_time_ns: int
    alloc_count: int
    free_count: int
    total_alloc_bytes: int
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Site:
    """A stack that allocated, in one layer, device and space."""

    layer: str
    device: Optional[int]
    space: str
    live_bytes: int
    live_blocks: int
    peak_bytes: int
    peak_blocks: int
    max_live_bytes: int
    total_bytes: int
    allocs: int
    frees: int
    category: str
    owner: str
    own_line: Optional[Frame]  # the frame by which the user knows the stack
    stack: tuple[Frame, ...] = dataclasses.field(repr=False)
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Finding:
    """A leak with its evidence."""

    definition: str  # "growth", "unexplained", "phase", "age" or "exit"
    layer: str
    device: Optional[int]
    space: str
    bytes: int
    blocks: Optional[int]
    bytes_per_step: Optional[float]
    confidence: Optional[float]  # 0 to 1
    ground: Optional[str]
    steps: Optional[int]
    first_step: Optional[int]
    steps_to_oom: Optional[int]
    phase: Optional[str]
    category: Optional[str]
    owner: Optional[str]
    hint: Optional[str]
    own_line: Optional[Frame]
    stack: tuple[Frame, ...] = dataclasses.field(repr=False)
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Leaks:
    """The result of `gpumemtrace leaks`."""

    file: str
    complete: bool
    findings: tuple[Finding, ...]  # strongest first
    growth_not_judged: Optional[str]  # the reason; None: it was judged
    phases_not_judged: Optional[str]
    end_not_judged: Optional[str]
    raw: dict[str, Any] = _RAW


def leaks_of(raw: dict[str, Any]) -> Leaks:
    return _make(Leaks, raw, findings=_all_with_stacks(Finding, raw["leaks"]))


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of `gpumemtrace report`."""

    file: str
    complete: bool
    pid: int
    host: str
    rank: Optional[int]
    command: tuple[str, ...]
    duration_ns: int
    recorded_events: int
    dropped_events: int
    totals: tuple[Totals, ...]  # each layer of each device; the last one is host memory
    sites: tuple[Site, ...] = dataclasses.field(repr=False)  # largest part of the peak first
    findings: tuple[Finding, ...]
    raw: dict[str, Any] = _RAW

    def layer(self, layer: str, device: Optional[int] = 0) -> Totals:
        """Returns the totals of a layer on a device; None: host memory. Raises KeyError if there are none."""
        for one in self.totals:
            if (one.layer, one.device) == (layer, device):
                return one
        raise KeyError((layer, device))


def report_of(raw: dict[str, Any]) -> Report:
    process, events = raw["process"], raw["events"]
    totals = [_make(Totals, layer, device=device["device"]) for device in raw["devices"] for layer in device["layers"]]
    totals.append(_make(Totals, raw["host"], layer="cuda", device=None))
    return _make(
        Report,
        raw,
        pid=process["pid"],
        host=process["host"],
        rank=process["rank"],
        command=tuple(process["command"]),
        duration_ns=process["duration_ns"],
        recorded_events=events["recorded"],
        dropped_events=events["dropped"],
        totals=tuple(totals),
        sites=_all_with_stacks(Site, raw["sites"]),
        findings=_all_with_stacks(Finding, raw["leaks"]),
    )


@dataclasses.dataclass(frozen=True)
class Rule:
    """The result of one rule of `gpumemtrace check`; of one layer and device, if the rule has them."""

    rule: str  # "GMT001"
    name: str
    state: str  # "passed", "failed", "skipped" ...
    text: str
    layer: Optional[str]
    device: Optional[int]
    measured: Optional[float]
    limit: Optional[float]
    unit: Optional[str]
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class RuleFinding:
    """A finding that a rule is about."""

    rule: str
    state: str
    title: str
    own_line: Optional[Frame]
    stack: tuple[Frame, ...] = dataclasses.field(repr=False)
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Check:
    """The verdict of `gpumemtrace check`."""

    verdict: str
    exit_code: int
    complete: bool
    checks: tuple[Rule, ...]
    findings: tuple[RuleFinding, ...]
    raw: dict[str, Any] = _RAW

    @property
    def passed(self) -> bool:
        """Whether all rules hold."""
        return self.exit_code == 0

    def __bool__(self) -> bool:
        return self.passed


def check_of(raw: dict[str, Any]) -> Check:
    return _make(
        Check,
        raw,
        checks=tuple(_make(Rule, one) for one in raw["checks"]),
        findings=_all_with_stacks(RuleFinding, raw["findings"]),
    )


@dataclasses.dataclass(frozen=True)
class Amount:
    """A number of two recordings."""

    base: int
    new: int
    difference: int
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Change:
    """A row of a comparison: the memory of one function, line, and so on."""

    change: str  # "new", "gone", "grown", "shrunk" or "unchanged"
    name: Optional[str]  # what the rows are compared by
    layer: str
    device: Optional[int]
    peak_bytes: Amount
    live_bytes: Amount
    total_bytes: Amount
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Account:
    """The memory of one layer on one device, in both recordings."""

    layer: str
    device: Optional[int]
    peak_bytes: Amount
    live_bytes: Amount
    total_bytes: Amount
    allocs: Amount
    frees: Amount
    raw: dict[str, Any] = _RAW


@dataclasses.dataclass(frozen=True)
class Diff:
    """The result of `gpumemtrace diff`: the recording compared with another one."""

    differs: bool
    by: str
    warnings: tuple[str, ...]
    accounts: tuple[Account, ...]
    changes: tuple[Change, ...]
    raw: dict[str, Any] = _RAW


def _amounts(raw: dict[str, Any], *names: str) -> dict[str, Amount]:
    return {name: _make(Amount, raw[name]) for name in names}


def diff_of(raw: dict[str, Any]) -> Diff:
    bytes_of = ("peak_bytes", "live_bytes", "total_bytes")
    accounts, changes = [], []
    for account in raw["accounts"]:
        accounts.append(_make(Account, account, **_amounts(account, *bytes_of, "allocs", "frees")))
        for row in account["rows"]:
            changes.append(
                _make(
                    Change,
                    row,
                    name=row.get("site", row.get("name")),
                    layer=account["layer"],
                    device=account["device"],
                    **_amounts(row, *bytes_of),
                )
            )
    return _make(Diff, raw, warnings=tuple(raw["warnings"]), accounts=tuple(accounts), changes=tuple(changes))
