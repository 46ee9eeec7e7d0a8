"""Two runs against each other: what was asked differently, and where each cycle of the difference is from.

The parts of a difference are a waterfall: one for each op and cause, one for what no op is answerable for,
and, where the two chips have different numbers of cores, one for sharing the work. They add up to the
difference of the runs' cycles exactly; on several cores, where a part is an average over the NPUs, by
rounding their running sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

from reports.diff.result_file import SETTINGS, TOTALS, Answer, AnswerOp
from reports.words import CAUSES

SHARING = "cores"
"""The kind of the part that says what a different number of cores does."""
ORDER = ("compute", *CAUSES, SHARING)
Presence = Literal["both", "only in A", "only in B"]


@dataclass(frozen=True, slots=True)
class Differing:
    """A setting in which the two runs differ; None where a run does not have it."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class Total:
    """A number of both runs."""

    name: str
    unit: str
    a: int
    b: int

    @property
    def change(self) -> int:
        """How much more B has."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Part:
    """One op (empty: what no op is answerable for) and one cause: NPU cycles in A and in B, and how many
    cycles of the difference between the runs they are. Of ``SHARING``, ``a`` and ``b`` are cores."""

    op: str
    cause: str
    a: int
    b: int
    cycles: int


@dataclass(frozen=True, slots=True)
class OpChange:
    """All parts of one op."""

    op: str
    presence: Presence
    parts: tuple[Part, ...]
    loaded: Total
    stored: Total

    @property
    def cycles(self) -> int:
        """Its share of the difference between the runs."""
        return sum(part.cycles for part in self.parts)


@dataclass(frozen=True, slots=True)
class Diff:
    """B against A. ``parts``, ``causes`` and the cycles of ``ops`` with ``rest`` each add up to ``change``.
    What comes in lists is sorted by how much it matters."""

    a: Answer
    b: Answer
    settings: tuple[Differing, ...]
    totals: tuple[Total, ...]
    moved: tuple[Total, ...]
    parts: tuple[Part, ...]
    causes: tuple[Part, ...]
    """By cause alone: ``op`` is empty."""
    ops: tuple[OpChange, ...]
    """Those in which anything differs."""
    rest: int
    """Cycles of the parts without an op."""

    @property
    def change(self) -> int:
        """Cycles that B takes more."""
        return self.b.cycles - self.a.cycles

    @property
    def milliseconds(self) -> Fraction:
        """Time that B takes more."""
        return self.b.milliseconds - self.a.milliseconds

    @property
    def clock_milliseconds(self) -> Fraction:
        """What of that is only the clock: A's cycles at B's clock. The rest is ``change`` at B's clock."""
        return self.a.cycles / (self.b.core_mhz * 1000) - self.a.milliseconds

    @property
    def same(self) -> bool:
        """Whether nothing that is compared differs."""
        return not (self.settings or self.changed_totals or self.ops or self.causes or self.milliseconds)

    @property
    def changed_totals(self) -> tuple[Total, ...]:
        """The totals in which the runs differ."""
        return tuple(total for total in self.totals if total.change)


def compare_results(a: Answer, b: Answer) -> Diff:
    """What changed from ``a`` to ``b``."""
    parts = _apportioned(a, b, tuple(_parts(a, b)))
    ops = _ops(a, b, parts)
    return Diff(
        a=a,
        b=b,
        settings=tuple(_settings(a, b)),
        totals=tuple(Total(name, unit, a.totals[name], b.totals[name]) for name, unit in TOTALS.items()),
        moved=tuple(_moved(a, b)),
        parts=tuple(sorted((p for p in parts if p.a != p.b or p.cycles), key=_weight)),
        causes=_causes(parts),
        ops=ops,
        rest=sum(part.cycles for part in parts if not part.op),
    )


def _weight(part: Part) -> tuple[int, int, str, str]:
    return -abs(part.cycles), -abs(part.b - part.a), part.op, part.cause


def _settings(a: Answer, b: Answer) -> Iterator[Differing]:
    """Whatever was asked differently: the named settings, fields of the chip, cores, and the path."""
    groups = [
        ("", {k: a.settings[k] for k in SETTINGS}, {k: b.settings[k] for k in SETTINGS}),
        ("", {"cores": str(a.cores)}, {"cores": str(b.cores)}),
        ("", a.chip_fields, b.chip_fields),
        ("path ", a.path, b.path),
    ]
    said: set[str] = set()
    for prefix, left, right in groups:
        for name in dict.fromkeys([*left, *right]):
            if left.get(name) != right.get(name) and prefix + name not in said:
                said.add(prefix + name)
                yield Differing(prefix + name, left.get(name), right.get(name))


def _moved(a: Answer, b: Answer) -> Iterator[Total]:
    for kind in dict.fromkeys([*a.moved_bytes, *b.moved_bytes]):
        yield Total(kind, "B", a.moved_bytes.get(kind, 0), b.moved_bytes.get(kind, 0))


def _parts(a: Answer, b: Answer) -> Iterator[Part]:
    """Every op and cause of either run, in A's order and then B's, without shares of the difference yet."""
    left, right = ({op.name: op.spent for op in answer.ops} for answer in (a, b))
    for name in dict.fromkeys([*left, *right]):
        yield from _by_cause(name, left.get(name, {}), right.get(name, {}))
    yield from _by_cause("", _rest(a), _rest(b))


def _by_cause(op: str, a: Mapping[str, int], b: Mapping[str, int]) -> Iterator[Part]:
    for cause in sorted({*a, *b}, key=_order):
        yield Part(op, cause, a.get(cause, 0), b.get(cause, 0), 0)


def _order(cause: str) -> tuple[int, str]:
    return ORDER.index(cause) if cause in ORDER else len(ORDER), cause


def _rest(answer: Answer) -> dict[str, int]:
    """What the run spent and none of its ops is answerable for."""
    found = dict(answer.spent)
    for op in answer.ops:
        for cause, cycles in op.spent.items():
            found[cause] = found.get(cause, 0) - cycles
    return {cause: cycles for cause, cycles in found.items() if cycles}


def _apportioned(a: Answer, b: Answer, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same with each part's cycles of the run, and what sharing by other cores does in front of them."""
    before, after = sum(p.a for p in parts), sum(p.b for p in parts)
    shares = [Fraction(p.b - p.a, b.cores) for p in parts]
    if a.cores != b.cores:
        sharing = Fraction(before, b.cores) - Fraction(before, a.cores)
        parts, shares = (Part("", SHARING, a.cores, b.cores, 0), *parts), [sharing, *shares]
    assert sum(shares) == Fraction(after, b.cores) - Fraction(before, a.cores)
    done = Fraction(0)
    found: list[Part] = []
    for part, share in zip(parts, shares, strict=True):
        cycles = floor(done + share) - floor(done)
        done += share
        found.append(Part(part.op, part.cause, part.a, part.b, cycles))
    return tuple(found)


def _causes(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    sums: dict[str, list[int]] = {}
    for part in parts:
        total = sums.setdefault(part.cause, [0, 0, 0])
        for index, value in enumerate((part.a, part.b, part.cycles)):
            total[index] += value
    found = [
        Part("", cause, *values) for cause, values in sums.items() if values[2] or values[0] != values[1]
    ]
    return tuple(sorted(found, key=_weight))


def _ops(a: Answer, b: Answer, parts: tuple[Part, ...]) -> tuple[OpChange, ...]:
    left, right = ({op.name: op for op in answer.ops} for answer in (a, b))
    of_op: dict[str, list[Part]] = {}
    for part in parts:
        of_op.setdefault(part.op, []).append(part)
    found = [_op(name, left.get(name), right.get(name), of_op[name]) for name in of_op if name]
    changed = [
        op for op in found if op.presence != "both" or op.parts or op.loaded.change or op.stored.change
    ]
    return tuple(sorted(changed, key=lambda op: (-abs(op.cycles), -_turnover(op), op.op)))


def _turnover(op: OpChange) -> int:
    return sum(abs(part.cycles) for part in op.parts)


def _op(name: str, a: AnswerOp | None, b: AnswerOp | None, parts: list[Part]) -> OpChange:
    presence: Presence = "only in B" if a is None else "only in A" if b is None else "both"
    changed = tuple(sorted((p for p in parts if p.a != p.b or p.cycles), key=_weight))
    loaded = Total("loaded_bytes", "B", a.loaded_bytes if a else 0, b.loaded_bytes if b else 0)
    stored = Total("stored_bytes", "B", a.stored_bytes if a else 0, b.stored_bytes if b else 0)
    return OpChange(name, presence, changed, loaded, stored)
