"""The difference between two runs: the settings that differ, and the causes of the difference in cycles.

The shares of a difference form a waterfall: one for each op and cause, one for cycles that belong to no op,
and, where the two chips have different numbers of cores, one for sharing the work. They add up exactly to the
difference of the runs' cycles; on several cores, where a share is an average over the NPUs, by rounding their
running sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import floor
from typing import ClassVar, Literal

from chipmodel.answers.op_totals import OpTotals
from chipmodel.records import dataclass
from reports.result_file import SETTINGS, TOTALS, UNITS, SavedResult
from reports.words import CAUSES

SHARING = "cores"
"""The cause of the share that is due to a different number of cores."""
ORDER = ("compute", *CAUSES, SHARING)
Presence = Literal["both", "only in A", "only in B"]


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A setting in which the two runs differ; None where a run does not have it."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class TotalPair:
    """A number of both runs."""

    name: str
    unit: str
    a: int
    b: int
    KEYS: ClassVar = ("name", "unit", "a", "b", "change")

    @property
    def change(self) -> int:
        """How much B has more than A."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class DifferenceShare:
    """One op and one cause: NPU cycles in A and in B, and the ``cycles`` of the difference between the runs
    that they account for. ``op`` is empty for cycles of no op; for ``SHARING``, ``a`` and ``b`` are cores."""

    op: str
    cause: str
    a: int
    b: int
    cycles: int

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return bool(self.cycles) or self.a != self.b


@dataclass(frozen=True, slots=True)
class OpChange:
    """All shares of one op."""

    op: str
    presence: Presence
    parts: tuple[DifferenceShare, ...]
    loaded_bytes: int
    """How many bytes more are loaded in B."""
    stored_bytes: int
    KEYS: ClassVar = ("name=op", "presence", "cycles", "parts=by_cause", "loaded_bytes", "stored_bytes")

    @property
    def by_cause(self) -> dict[str, int]:
        """The cycles of its parts."""
        return {part.cause: part.cycles for part in self.parts}

    @property
    def cycles(self) -> int:
        """The op's part of the difference between the runs."""
        return sum(part.cycles for part in self.parts)


@dataclass(frozen=True, slots=True)
class RunDifference:
    """B against A. ``parts``, ``causes``, and the cycles of ``ops`` with ``rest`` each add up to ``change``.
    All lists begin with the largest changes."""

    a: SavedResult
    b: SavedResult
    settings: tuple[ChangedSetting, ...]
    totals: tuple[TotalPair, ...]
    moved: tuple[TotalPair, ...]
    parts: tuple[DifferenceShare, ...]
    causes: tuple[DifferenceShare, ...]
    """Sums by cause; ``op`` is empty."""
    ops: tuple[OpChange, ...]
    """Ops in which anything differs."""
    rest: int
    """Cycles of the shares without an op."""
    KEYS: ClassVar = (
        *("a=a.side", "b=b.side", "settings", "change_cycles=change"),
        *("change_milliseconds=milliseconds", "clock_milliseconds", "totals", "moved_bytes=moved", "causes"),
        *("ops", "rest_cycles=rest", "parts"),
    )

    @property
    def change(self) -> int:
        """How many cycles B takes longer."""
        return self.b.cycles - self.a.cycles

    @property
    def milliseconds(self) -> Fraction:
        """How many milliseconds B takes longer."""
        return self.b.milliseconds - self.a.milliseconds

    @property
    def clock_milliseconds(self) -> Fraction:
        """The part of that which is due to the clock alone: A's cycles at B's clock, against A's time."""
        return self.a.cycles / (self.b.core_mhz * 1000) - self.a.milliseconds

    @property
    def same(self) -> bool:
        """Whether the runs do not differ in anything that is compared."""
        return not (self.settings or self.changed_totals or self.ops or self.causes or self.milliseconds)

    @property
    def changed_totals(self) -> tuple[TotalPair, ...]:
        """The totals in which the runs differ."""
        return tuple(total for total in self.totals if total.change)


def compare_results(a: SavedResult, b: SavedResult) -> RunDifference:
    """Find what changed from ``a`` to ``b``."""
    parts = _apportioned(a, b, tuple(_parts(a, b)))
    ops = _ops(a, b, parts)
    return RunDifference(
        a=a,
        b=b,
        settings=tuple(_settings(a, b)),
        totals=tuple(
            TotalPair(name, UNITS[name.rpartition("_")[2]], a.totals[name], b.totals[name])
            for name in TOTALS
            if name in a.totals and name in b.totals
        ),
        moved=tuple(_moved(a, b)),
        parts=_changed(parts),
        causes=_causes(parts),
        ops=ops,
        rest=sum(part.cycles for part in parts if not part.op),
    )


def _changed(parts: Iterable[DifferenceShare]) -> tuple[DifferenceShare, ...]:
    """The parts in which the runs differ, those of the largest changes first."""

    def weight(part: DifferenceShare) -> tuple[int, int, str, str]:
        return -abs(part.cycles), -abs(part.b - part.a), part.op, part.cause

    return tuple(sorted((part for part in parts if part.differs), key=weight))


def _settings(a: SavedResult, b: SavedResult) -> Iterator[ChangedSetting]:
    """The settings that differ: planners, cores, fields of the chip, and decisions of the path."""
    groups = [
        ("", {k: a.settings[k] for k in SETTINGS}, {k: b.settings[k] for k in SETTINGS}),
        ("", {"cores": str(a.cores)}, {"cores": str(b.cores)}),
        ("", a.chip_fields, b.chip_fields),
        ("path ", a.path, b.path),
    ]
    seen: set[str] = set()
    for prefix, left, right in groups:
        for name in dict.fromkeys([*left, *right]):
            if left.get(name) != right.get(name) and prefix + name not in seen:
                seen.add(prefix + name)
                yield ChangedSetting(prefix + name, left.get(name), right.get(name))


def _moved(a: SavedResult, b: SavedResult) -> Iterator[TotalPair]:
    for kind in dict.fromkeys([*a.moved_bytes, *b.moved_bytes]):
        yield TotalPair(kind, "B", a.moved_bytes.get(kind, 0), b.moved_bytes.get(kind, 0))


def _parts(a: SavedResult, b: SavedResult) -> Iterator[DifferenceShare]:
    """Every op and cause of either run, A's ops first; ``cycles`` are filled in later."""
    left, right = ({op.name: op.spent for op in answer.ops} for answer in (a, b))
    for name in dict.fromkeys([*left, *right]):
        yield from _by_cause(name, left.get(name, {}), right.get(name, {}))
    yield from _by_cause("", _rest(a), _rest(b))


def _by_cause(op: str, a: Mapping[str, int], b: Mapping[str, int]) -> Iterator[DifferenceShare]:
    for cause in sorted({*a, *b}, key=_order):
        yield DifferenceShare(op, cause, a.get(cause, 0), b.get(cause, 0), 0)


def _order(cause: str) -> tuple[int, str]:
    return ORDER.index(cause) if cause in ORDER else len(ORDER), cause


def _rest(answer: SavedResult) -> dict[str, int]:
    """Cycles of the run that belong to none of its ops, by cause."""
    spent = Counter(answer.spent)
    for op in answer.ops:
        spent.subtract(op.spent)
    return {cause: cycles for cause, cycles in spent.items() if cycles}


def _apportioned(
    a: SavedResult, b: SavedResult, parts: tuple[DifferenceShare, ...]
) -> tuple[DifferenceShare, ...]:
    """``parts`` with their cycles of the difference, less a share for a different number of cores."""
    before, after = sum(p.a for p in parts), sum(p.b for p in parts)
    shares = [Fraction(p.b - p.a, b.cores) for p in parts]
    if a.cores != b.cores:
        sharing = Fraction(before, b.cores) - Fraction(before, a.cores)
        parts, shares = (DifferenceShare("", SHARING, a.cores, b.cores, 0), *parts), [sharing, *shares]
    assert sum(shares) == Fraction(after, b.cores) - Fraction(before, a.cores)
    done = Fraction(0)
    apportioned: list[DifferenceShare] = []
    for part, share in zip(parts, shares, strict=True):
        cycles = floor(done + share) - floor(done)
        done += share
        apportioned.append(DifferenceShare(part.op, part.cause, part.a, part.b, cycles))
    return tuple(apportioned)


def _causes(parts: tuple[DifferenceShare, ...]) -> tuple[DifferenceShare, ...]:
    a, b, cycles = Counter[str](), Counter[str](), Counter[str]()
    for part in parts:
        a[part.cause] += part.a
        b[part.cause] += part.b
        cycles[part.cause] += part.cycles
    return _changed(DifferenceShare("", cause, a[cause], b[cause], cycles[cause]) for cause in cycles)


def _ops(a: SavedResult, b: SavedResult, parts: tuple[DifferenceShare, ...]) -> tuple[OpChange, ...]:
    left, right = ({op.name: op for op in answer.ops} for answer in (a, b))
    of_op: dict[str, list[DifferenceShare]] = {}
    for part in parts:
        of_op.setdefault(part.op, []).append(part)
    ops = [_op(name, left.get(name), right.get(name), of_op[name]) for name in of_op if name]
    changed = [op for op in ops if op.presence != "both" or op.parts or op.loaded_bytes or op.stored_bytes]
    return tuple(sorted(changed, key=lambda op: (-abs(op.cycles), -_turnover(op), op.op)))


def _turnover(op: OpChange) -> int:
    return sum(abs(part.cycles) for part in op.parts)


def _op(name: str, a: OpTotals | None, b: OpTotals | None, parts: list[DifferenceShare]) -> OpChange:
    presence: Presence = "only in B" if a is None else "only in A" if b is None else "both"
    loaded = (b.loaded_bytes if b else 0) - (a.loaded_bytes if a else 0)
    stored = (b.stored_bytes if b else 0) - (a.stored_bytes if a else 0)
    return OpChange(name, presence, _changed(parts), loaded, stored)
