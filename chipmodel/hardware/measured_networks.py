"""Networks that a board was measured with, as a chip file keeps them, and what they say of a prediction.

Every published row is there. What a network shows before it is measured decides its class, so that a user's
network has a class too: ``chipmodel.measured.track_record``.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from itertools import accumulate
from math import comb, exp, hypot, inf, log, sqrt
from statistics import fmean
from typing import ClassVar

from chipmodel.errors import BadInput, Place
from chipmodel.records import dataclass

APART = "another network or software"
"""The class of rows that no prediction here is about: no network of a user falls into it."""
SHARE = 0.8
"""The share of measured networks that fall into an interval."""
LEAST_FAMILIES = 4
"""With so many families their interval has 80 % of further ones; with fewer, no share is promised."""
MANY_FAMILIES = 9
"""With so many the interval is one of measured networks; those of fewer families are too few for 80 %."""
SPREAD, PRIOR = 0.21, 2
"""The spread of families' errors (standard deviation of logarithms) that all classes with an error to promise
have when pooled, and as how many degrees of freedom it counts beside those of a class; 2 are the likeliest
(bench/results/boards.md)."""
ROWS_PER_NUMBER = 5
"""Networks that each number needs at least that is fitted to them."""
WIDER = 1.21
"""How much wider logarithms spread than the rows of the tables show: of 150 rows of 12 classes that were kept
apart 106 lay in intervals made for 80 %, as of a normal distribution with 1.282 / 1.058 of the deviation."""
WIDEST = 3
"""The factor between the ends of an interval above which it is no answer."""
BROKEN = 0.05
"""A promise is broken by rows that were added later if so few of them, or fewer, would be inside with this
chance."""
PROMISED = 0.25
"""The mean error, with families held out, above which no error is promised of a class."""
DEVIATIONS = (1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383)
"""Student's standard deviations to each side that have 80 %, by the number of families less 1."""


@dataclass(frozen=True, slots=True)
class NetworkTraits:
    """What a network shows on a chip without being measured."""

    kind: str
    """The class that it belongs to."""
    macs: int
    weight_bytes: int
    live_bytes: int
    """The most bytes of tensors that are alive at one op."""
    ops: frozenset[str]
    """The kinds of its ops."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that are compared, by what they count."""
        return {"MACs": self.macs, "bytes of weights": self.weight_bytes, "bytes of tensors": self.live_bytes}

    def distance(self, other: NetworkTraits) -> float:
        """How unlike the sizes are: the length of the vector of their logarithms' differences."""
        pairs = zip(self.sizes.values(), other.sizes.values(), strict=True)
        return hypot(*(log((a + 1) / (b + 1)) for a, b in pairs))


@dataclass(frozen=True, slots=True)
class MeasuredNetwork:
    """A published row: times in milliseconds, ``held_out`` by a fit that has not seen the family, or before
    anybody had seen the row."""

    workload: str
    family: str
    measured: float
    predicted: float
    held_out: float
    traits: NetworkTraits

    @property
    def error(self) -> float:
        """Predicted less measured, as a share of measured."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class BlindRow:
    """A row that was predicted before anybody had seen it: milliseconds, with the interval that was printed
    (0 and 0 for none)."""

    date: str
    workload: str
    kind: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def inside(self) -> bool | None:
        """Whether the interval held; None where none was printed."""
        return self.low <= self.measured <= self.high if self.high else None


@dataclass(frozen=True, slots=True)
class NetworkClass:
    """The measured networks of one class, of which several rows of one workload are one."""

    kind: str
    networks: tuple[MeasuredNetwork, ...]
    blind: tuple[BlindRow, ...] = ()
    """Rows of the class that were added later, and decided nothing since."""
    withdrawn: str = ""
    """Why nothing is promised of the chip, whatever its rows are; empty for nothing known against it."""
    unseen: int = 0
    """How many of the networks were predicted before anybody had seen them."""
    KEYS: ClassVar = ("class=kind", "networks=count", "mean_error", "held_out_error")

    @property
    def mean_error(self) -> float:
        """The mean of the errors' sizes."""
        return mean_error(self.networks)

    @property
    def held_out_error(self) -> float:
        """The same of predictions by fits that have not seen a network's family."""
        return fmean(abs(network.held_out / network.measured - 1) for network in self.networks)

    @property
    def held_out_words(self) -> str:
        """That error, and what it rests on."""
        unseen = f", {self.unseen} of them before they were seen" if self.unseen else ""
        return f"{self.held_out_error:.1%} with families held out{unseen}"

    @property
    def count(self) -> int:
        """How many networks there are; one that was measured with several settings of the chip is one."""
        return len({network.workload.partition(" ")[0] for network in self.networks})

    @property
    def families(self) -> Mapping[str, int]:
        """How many networks there are of each family."""
        return Counter(network.family for network in self.networks)

    @property
    def promises(self) -> bool:
        """Whether its families are enough for the share that the interval is to have."""
        return len(self.families) >= LEAST_FAMILIES

    @property
    def is_known(self) -> bool:
        """Whether its error can be promised of further networks."""
        return not self.doubt

    @property
    def doubt(self) -> str:
        """Why its error cannot be promised of further networks; empty where it can."""
        off, families = f"{self.held_out_error:.1%} off", len(self.families)
        if self.kind == APART or self.held_out_error > PROMISED:
            return off
        if not self.promises:
            return f"{off}, in {families} of the {LEAST_FAMILIES} families needed"
        return self.contradicted

    @property
    def contradicted(self) -> str:
        """What rows say against its interval that did not make it; empty where they say nothing."""
        inside = sum(row.inside is True for row in self.blind)
        broken = f"of {len(self.blind)} added later {inside} were inside"
        return broken if self.broken else self.withdrawn

    @property
    def broken(self) -> bool:
        """Whether too few of the rows that were added later are inside for the promised share."""
        tried = [row.inside for row in self.blind if row.inside is not None]
        few = range(sum(tried) + 1)
        return (
            bool(tried)
            and sum(comb(len(tried), k) * SHARE**k * (1 - SHARE) ** (len(tried) - k) for k in few) < BROKEN
        )

    @property
    def unknown(self) -> str:
        """Why its interval says nothing: it is too wide, or others contradicted it; empty where it says
        something."""
        low, high = self.interval
        if high > WIDEST * low:
            return f"networks with {self.kind} took {low:.2g} to {high:.2g} times as long as predicted"
        return self.contradicted

    @property
    def interval(self) -> tuple[float, float]:
        """The least and largest of measured by predicted (held out) that 80 % of further families have.

        Networks of one family are as one, and may count in part. Between the least and the largest of m
        families out of n lies a further one with the chance (m - 1) / (n + 1), so m is chosen for 80 %, and
        the shortest such interval is taken. Of few families all would not do: then it goes at least as far as
        Student's, with the spread that their logarithms and those of other boards have together. Of a class
        whose error cannot be promised it has all. All are wider by what rows kept apart have shown (WIDER).

        References
        ----------
        H. A. David, H. N. Nagaraja, Order Statistics, 2003, section 7.3 (prediction intervals).
        G. K. Smyth, Linear models and empirical Bayes methods, 2004, doi:10.2202/1544-6115.1027 (spreads).
        """
        families = self.families
        ratios = sorted(
            (network.measured / network.held_out, 1 / families[network.family]) for network in self.networks
        )
        every = len(families)
        needed = (min(every, SHARE * (every + 1) + 1) if self.is_known else every) - 1e-9
        intervals = (_from(ratios[first:], needed) for first in range(len(ratios)))
        low, high = min((each for each in intervals if each), key=lambda each: each[1] / each[0])
        if len(families) < MANY_FAMILIES:
            least, most = _students(self.networks)
            low, high = min(low, least), max(high, most)
        further = (high / low) ** ((WIDER - 1) / 2)
        return low / further, high * further


def _students(networks: Sequence[MeasuredNetwork]) -> tuple[float, float]:
    """The interval of one more than these few families, their logarithms spread about as on other boards."""
    of_family: dict[str, list[float]] = {}
    for network in networks:
        of_family.setdefault(network.family, []).append(log(network.measured / network.held_out))
    families = [fmean(ratios) for ratios in of_family.values()]
    middle, others = fmean(families), len(families) - 1
    squares = PRIOR * SPREAD**2 + sum((ratio - middle) ** 2 for ratio in families)
    reach = DEVIATIONS[others] * sqrt(squares / (PRIOR + others) * (1 + 1 / len(families)))
    return exp(middle - reach), exp(middle + reach)


def _from(ratios: Sequence[tuple[float, float]], needed: float) -> tuple[float, float] | None:
    """The interval from the first of ``ratios`` that has the weight ``needed``; None where there is none."""
    weights = accumulate(weight for _, weight in ratios)
    last = next((ratio for (ratio, _), sum_ in zip(ratios, weights, strict=True) if sum_ >= needed), None)
    return (ratios[0][0], last) if last is not None else None


def mean_error(rows: Iterable[MeasuredNetwork]) -> float:
    """The mean of the sizes of the errors of ``rows``."""
    return fmean(abs(row.error) for row in rows)


def classes(
    rows: Sequence[MeasuredNetwork], blind: Sequence[BlindRow] = (), withdrawn: str = ""
) -> dict[str, NetworkClass]:
    """The classes of ``rows`` in the order of their first rows, the rows apart among them, last. Rows that
    were ``blind`` and are measured ones since keep their first prediction as the held-out one: the mechanisms
    that they called for were chosen after it."""
    first = {row.workload: row.predicted for row in reversed(blind)}
    rows = [replace(row, held_out=first.get(row.workload, row.held_out)) for row in rows]
    known = {row.workload for row in rows}
    later = [row for row in blind if row.workload not in known]
    by_kind: dict[str, dict[str, list[MeasuredNetwork]]] = {}
    for row in sorted(rows, key=lambda row: row.traits.kind == APART):
        by_kind.setdefault(row.traits.kind, {}).setdefault(row.workload, []).append(row)
    return {
        kind: NetworkClass(
            kind,
            tuple(map(_once, networks.values())),
            tuple(row for row in later if row.kind == kind),
            withdrawn,
            len(networks.keys() & first.keys()),
        )
        for kind, networks in by_kind.items()
    }


def _once(rows: Sequence[MeasuredNetwork]) -> MeasuredNetwork:
    return replace(rows[0], measured=fmean(row.measured for row in rows))


def summary(rows: Sequence[MeasuredNetwork], blind: Sequence[BlindRow] = (), withdrawn: str = "") -> str:
    """The errors of all rows and of each class in words."""
    every = f"mean error {mean_error(rows):.1%} over {len(rows)} published row{'s' if rows[1:] else ''}"
    return "; ".join((every, *map(_class_words, classes(rows, blind, withdrawn).values())))


def _class_words(each: NetworkClass) -> str:
    count = each.count
    of = "of" if each.kind == APART else f"network{'s' if count > 1 else ''} with"
    if not each.is_known:
        return f"no error promised of {count} {of} {each.kind} ({each.doubt})"
    held = f" ({each.held_out_words})" if each.held_out_error != each.mean_error else ""
    return f"{each.mean_error:.1%}{held} over {count} {of} {each.kind}"


_HEADER = (
    *("workload", "family", "measured", "predicted", "held_out"),
    *(field.name for field in fields(NetworkTraits)),
)
_BLIND_HEADER = tuple(field.name for field in fields(BlindRow))


def _csv_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table of a chip file; times have five digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{cell:.5g}" if isinstance(cell, float) else cell for cell in line] for line in lines)
    return text.getvalue()


def network_rows(rows: Iterable[MeasuredNetwork]) -> str:
    """``rows`` as the CSV text of a chip file's ``measured``."""
    return _csv_text(
        _HEADER,
        ((*astuple(row)[:-1], *astuple(row.traits)[:-1], " ".join(sorted(row.traits.ops))) for row in rows),
    )


def blind_rows(rows: Iterable[BlindRow]) -> str:
    """``rows`` as the CSV text of a chip file's ``blind``, oldest first."""
    return _csv_text(_BLIND_HEADER, (astuple(row) for row in sorted(rows, key=lambda row: row.date)))


def read_blind(text: str, where: Place) -> tuple[BlindRow, ...]:
    """The rows in a chip file's ``blind``. Raises BadInput for a row that is none."""
    header, *lines = list(csv.reader(io.StringIO(text))) or [[]]
    try:
        if tuple(header) != _BLIND_HEADER:
            raise ValueError
        rows = [BlindRow(day, name, kind, *map(float, times)) for day, name, kind, *times in lines]
    except (TypeError, ValueError):
        hint = "write all of it again: python -m bench.silicon --blind FILE --record DATE"
        raise BadInput("'blind' is not a table of predictions", where=where, hint=hint) from None
    return tuple(rows)


def read_networks(text: str, where: Place) -> tuple[MeasuredNetwork, ...]:
    """The rows in a chip file's ``measured``. Raises BadInput for a row that is none."""
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or tuple(lines[0]) != _HEADER:
        hint = f"begin it with the line {','.join(_HEADER)}"
        raise BadInput("'measured' is not a table of networks", where=where, hint=hint)
    return tuple(_read(cells, where) for cells in lines[1:])


def _read(cells: Sequence[str], where: Place) -> MeasuredNetwork:
    try:
        workload, family, measured, predicted, held_out, kind, macs, weights, live, ops = cells
        traits = NetworkTraits(kind, int(macs), int(weights), int(live), frozenset(ops.split()))
        times = float(measured), float(predicted), float(held_out)
        if not all(0 < time < inf for time in times) or min(traits.sizes.values()) < 0:
            raise ValueError
    except ValueError:
        what = f"'measured' has a row that cannot be read: {','.join(cells)[:80]}"
        hint = "write all of it again: chipmodel calibrate, or python -m bench.silicon --write"
        raise BadInput(what, where=where, hint=hint) from None
    return MeasuredNetwork(workload, family, *times, traits)
