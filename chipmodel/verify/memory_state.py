"""What an abstract machine's memories hold: the facts that ``verify`` reasons with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise

from chipmodel.model.commands import DmaStart, Located
from chipmodel.model.interval import Interval
from chipmodel.model.schedule import Part
from chipmodel.model.work import WHOLE, Share

Key = tuple[str, bool, int]
"""Name, whether it is an op's weights, and offset."""
Span = tuple[Fraction, Fraction]
"""From and to, as parts of a whole."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Shares of one thing, and the sum of their parts of it: complete where they add up to the whole
    and none of them overlap."""

    shares: frozenset[Share] = frozenset()
    area: Fraction = Fraction(0)

    def __contains__(self, share: Share) -> bool:
        return self.complete or share in self.shares

    @property
    def complete(self) -> bool:
        return WHOLE in self.shares

    def holds(self, share: Share) -> bool:
        """Whether all of ``share`` is here, in however many parts that are cut in the same rows."""
        if share in self:
            return True
        alike = frozenset(s for s in self.shares if s.of_rows == share.of_rows)
        return not _any_overlap(alike) and sum(_common(share, s) for s in alike) == _common(share, share)

    def add(self, share: Share) -> Cover:
        """With one share more; a complete cover is written as the whole, however it was cut."""
        if share in self:
            return self
        area = self.area + Fraction(len(share.rows) * len(share.channels), share.of_rows * share.of_channels)
        shares = self.shares | {share}
        if area == 1 and not _any_overlap(shares):
            return Cover(frozenset({WHOLE}), area)
        return Cover(shares, area)


NOTHING = Cover()


def _any_overlap(shares: frozenset[Share]) -> bool:
    """Whether two of them hold one byte: looked for in each band of rows, where they lie in bands."""
    bands: dict[Span, list[Span]] = {}
    for share in shares:
        rows, channels = _span(share.rows, share.of_rows), _span(share.channels, share.of_channels)
        bands.setdefault(rows, []).append(channels)
    if not _clash(bands):
        return any(_clash(channels) for channels in bands.values())
    areas = [(rows, channels) for rows, every in bands.items() for channels in every]
    return any(_clash((a[0], b[0])) and _clash((a[1], b[1])) for a, b in combinations(areas, 2))


def _common(a: Share, b: Share) -> Fraction:
    """The part of the whole that two shares both have."""
    area = Fraction(1)
    for one, other in (
        (_span(a.rows, a.of_rows), _span(b.rows, b.of_rows)),
        (_span(a.channels, a.of_channels), _span(b.channels, b.of_channels)),
    ):
        area *= max(Fraction(0), min(one[1], other[1]) - max(one[0], other[0]))
    return area


def _span(interval: Interval, of: int) -> Span:
    return Fraction(interval.start, of), Fraction(interval.stop, of)


def _clash(spans: Iterable[Span]) -> bool:
    """Of sorted spans with points in them, some neighbours overlap if any two do."""
    return any(after[0] < before[1] for before, after in pairwise(sorted(s for s in spans if s[0] < s[1])))


@dataclass(frozen=True, slots=True)
class Held:
    """Shares of one thing at one place in SharedMemory, ``stop`` past the end of its buffer."""

    start: int
    stop: int
    cover: Cover


@dataclass
class MemoryState:
    """``psram`` lists the tensors that lie there complete; ``partial`` those being stored.

    ``written`` is the definition in progress of each tensor; a share that is written again begins a
    new definition, and every copy of the old one is stale.

    A tensor may also be *updated* share by share. Then Psram has it but for the shares that are
    ``behind``, which have been written on chip and not yet stored; ``renewed`` are the shares of a pass
    over the whole tensor that are new, so that the others can still be read as they were.
    """

    psram: frozenset[str]
    held: dict[Key, Held] = field(default_factory=dict[Key, Held])
    partial: dict[str, Cover] = field(default_factory=dict[str, Cover])
    written: dict[str, Cover] = field(default_factory=dict[str, Cover])
    behind: dict[str, frozenset[Share]] = field(default_factory=dict[str, frozenset[Share]])
    renewed: dict[str, Cover] = field(default_factory=dict[str, Cover])
    in_flight: dict[str, DmaStart] = field(default_factory=dict[str, DmaStart])
    spoiled: frozenset[str] = frozenset()
    """Those in flight of which some path to here has waited and no longer has what they moved. Where all
    that have waited still have it, it is as if nobody had."""
    over: frozenset[str] = frozenset()
    """Transfers that have been waited for on every path to here, the latest of their name."""

    def copy(self) -> MemoryState:
        """An independent copy; the values themselves are frozen."""
        return MemoryState(
            self.psram,
            dict(self.held),
            dict(self.partial),
            dict(self.written),
            dict(self.behind),
            dict(self.renewed),
            dict(self.in_flight),
            self.spoiled,
            self.over,
        )

    def same_as(self, other: MemoryState) -> bool:
        """Whether both states know the same facts."""
        return (
            self.psram == other.psram
            and self.held == other.held
            and self.partial == other.partial
            and self.written == other.written
            and self.behind == other.behind
            and self.renewed == other.renewed
            and self.in_flight == other.in_flight
            and self.spoiled == other.spoiled
            and self.over == other.over
        )

    def common(self, other: MemoryState) -> MemoryState:
        """The facts that hold in both; what is in flight in one of them may be in the other."""
        return MemoryState(
            self.psram & other.psram,
            {k: v for k, v in self.held.items() if other.held.get(k) == v},
            {k: v for k, v in self.partial.items() if other.partial.get(k) == v},
            {k: v for k, v in self.written.items() if other.written.get(k) == v},
            {k: v for k, v in self.behind.items() if other.behind.get(k) == v},
            {k: v for k, v in self.renewed.items() if other.renewed.get(k) == v},
            self.in_flight | other.in_flight,
            self.spoiled | other.spoiled | self._spoils(other) | other._spoils(self),
            self.over & other.over,
        )

    def _spoils(self, other: MemoryState) -> frozenset[str]:
        """What is in flight in ``other`` but not here, where its bytes do not lie here."""
        left = (start for name, start in other.in_flight.items() if name not in self.in_flight)
        return frozenset(
            start.name
            for start in left
            if start.direction == "store" or self.held.get(_key(start.at)) != _brought(start)
        )

    def leaves_like(self, other: MemoryState) -> bool:
        """Whether what is in flight in one of them is the same in the other, or has been waited for there."""
        return all(
            a.in_flight.get(name) == start or (name not in a.in_flight and name in a.over)
            for a, b in ((self, other), (other, self))
            for name, start in b.in_flight.items()
        )

    def unless_skipped(self, before: MemoryState) -> MemoryState:
        """What is in flight behind a loop, before which ``before`` held, if it may have made no iteration.
        The other facts are of iterations: what a loop makes is not read where it makes none."""
        joined = self.common(before)
        state = self.copy()
        state.in_flight, state.spoiled, state.over = joined.in_flight, joined.spoiled, joined.over
        return state

    def in_psram(self, name: str) -> bool:
        """Whether the newest definition of ``name`` is completely in Psram."""
        return name in self.psram

    def can_load(self, part: Part) -> bool:
        """Whether ``part`` is completely in Psram: of its newest definition, of which other parts may still
        be on their way there, or, while the tensor is being updated, of the value that this share had
        before."""
        if part.name in self.psram:
            return True
        renewed = self.renewed.get(part.name)
        if renewed is not None:
            return _apart(part.share, renewed.shares)
        return part.name in self.partial and self.partial[part.name].holds(part.share)

    def missing(self, place: Located) -> str | None:
        """What keeps ``place.part`` from being read there, in words."""
        part = place.part
        for start in self.in_flight.values():
            if start.direction == "load" and _meet(start.at, place):
                return f"reads {part.name!r} at {place.offset} while {start.name!r} is in flight"
        held = self.held.get((part.name, part.weights, place.offset))
        if held is None:
            return f"{part.name!r} is not at {place.offset}"
        if held.stop != place.offset + place.bytes:
            return f"{part.name!r} at {place.offset} takes {held.stop - held.start} bytes, not {place.bytes}"
        if part.share in held.cover:
            return None
        return f"{part.name!r} at {place.offset} is not complete"

    def start(self, start: DmaStart) -> list[str]:
        """Begin a transfer; a load's target holds nothing until it has been waited for."""
        faults = self._collisions(start.at, f"transfer {start.name!r}", reading=start.direction == "store")
        if start.name in self.in_flight:
            faults.append(f"transfer {start.name!r} starts again before anybody waited for it")
        if start.direction == "load":
            self._forget(start.at)
        self.in_flight[start.name] = start
        self.spoiled -= {start.name}
        self.over -= {start.name}
        return faults

    def wait(self, name: str) -> list[str]:
        """End a transfer: what it moved has arrived, unless a path has waited before and used the bytes
        since. Nothing happens where every path has waited before."""
        start = self.in_flight.pop(name, None)
        if start is None:
            never = f"something waits for transfer {name!r}, which is not in flight"
            return [] if name in self.over else [never]
        self.over |= {name}
        if name in self.spoiled:
            self.spoiled -= {name}
            return []
        part = start.at.part
        if start.direction == "store" and part.name in self.behind:
            return self._caught_up(part)
        if start.direction == "load":
            self.held[_key(start.at)] = _brought(start)
            return []
        cover = self.partial.get(part.name, NOTHING).add(part.share)
        self.partial[part.name] = cover
        if cover.complete:
            self.psram |= {part.name}
        return []

    def write(self, place: Located, who: str, accumulates: bool) -> list[str]:
        """A step writes ``place.part``. ``accumulates`` where the buffer holds the whole tensor, so
        that its parts add up; a smaller buffer holds the latest part alone."""
        part = place.part
        faults = self._collisions(place, who, reading=False)
        written = self.written.get(part.name, NOTHING)
        if part.share in written:
            faults += self._redefine(part.name, who)
            written = NOTHING
        self.written[part.name] = written.add(part.share)
        key = (part.name, False, place.offset)
        before = self.held.get(key) if accumulates else None
        self._forget(place)
        cover = (before.cover if before else NOTHING).add(part.share)
        self.held[key] = Held(place.offset, place.offset + place.bytes, cover)
        return faults

    def allocate(self, name: str, who: str) -> list[str]:
        """``name`` is defined and any content is right: every place has it."""
        faults = self._redefine(name, who)
        self.written.pop(name, None)
        self.psram |= {name}
        return faults

    def update(self, place: Located, who: str, whole: bool, passes: bool) -> list[str]:
        """A step renews ``place.part`` and leaves the rest of the tensor as it is.

        ``whole`` where the buffer holds all of the tensor; otherwise the rest is in Psram. ``passes`` where
        the step is one of those that renew every share, and so may find the old value in the others.
        """
        part = place.part
        faults = self._collisions(place, who, reading=False)
        faults += [
            f"{who} updates {part.name!r} while {start.name!r} is in flight"
            for start in self.in_flight.values()
            if start.at.part.name == part.name
            and not start.at.part.weights
            and not _apart(part.share, {start.at.part.share})
        ]
        key = (part.name, False, place.offset)
        before = self.held.get(key)
        stored = part.name in self.psram or part.name in self.behind or part.name in self.renewed
        if whole and not (before and before.cover.complete):
            faults.append(f"{who} updates {part.name!r}, which is not complete at {place.offset}")
        if not whole and not stored:
            faults.append(f"{who} updates {part.name!r}, which is not completely in Psram")
        self.held = {
            k: v
            for k, v in self.held.items()
            if k[0] != part.name or k[1] or _apart(part.share, v.cover.shares)
        }
        self._forget(place)
        self.held[key] = Held(
            place.offset, place.offset + place.bytes, NOTHING.add(WHOLE if whole else part.share)
        )
        self._fall_behind(part, stored, passes)
        return faults

    def _fall_behind(self, part: Part, stored: bool, passes: bool) -> None:
        if not passes and part.share in self.behind.get(part.name, ()):
            del self.behind[part.name]  # the slice before it was never stored
        elif stored:
            self.psram -= {part.name}
            self.behind[part.name] = self.behind.get(part.name, frozenset()) | {part.share}
        if passes:
            self.renewed[part.name] = self.renewed.get(part.name, NOTHING).add(part.share)
            if self.renewed[part.name].complete:
                del self.renewed[part.name]

    def _caught_up(self, part: Part) -> list[str]:
        left = self.behind[part.name] - {part.share}
        if left:
            self.behind[part.name] = left
            return []
        del self.behind[part.name]
        if part.name not in self.renewed:
            self.psram |= {part.name}
        return []

    def _redefine(self, name: str, who: str) -> list[str]:
        """Every copy of the old value is stale from now on."""
        self.held = {k: v for k, v in self.held.items() if k[0] != name or k[1]}
        self.psram -= {name}
        for facts in (self.partial, self.behind, self.renewed):
            facts.pop(name, None)
        return [
            f"{who} writes {name!r} again while {start.name!r} is in flight"
            for start in self.in_flight.values()
            if start.at.part.name == name and not start.at.part.weights
        ]

    def _collisions(self, place: Located, who: str, reading: bool) -> list[str]:
        """Transfers in flight that ``place`` may not meet; a store may be read beside."""
        return [
            f"{who} touches bytes [{place.offset}, {place.offset + place.bytes}) while {start.name!r} "
            f"is in flight there"
            for start in self.in_flight.values()
            if _meet(start.at, place) and not (reading and start.direction == "store")
        ]

    def _forget(self, place: Located) -> None:
        stop = place.offset + place.bytes
        self.held = {k: v for k, v in self.held.items() if v.stop <= place.offset or stop <= v.start}


def _key(place: Located) -> Key:
    return place.part.name, place.part.weights, place.offset


def _brought(start: DmaStart) -> Held:
    """What a load leaves in SharedMemory."""
    at = start.at
    return Held(at.offset, at.offset + at.bytes, NOTHING.add(at.part.share))


def _apart(share: Share, others: Iterable[Share]) -> bool:
    """Whether no byte of ``share`` is in one of ``others``."""
    return not any(_any_overlap(frozenset({share, other})) or share == other for other in others)


def _meet(a: Located, b: Located) -> bool:
    return max(a.offset, b.offset) < min(a.offset + a.bytes, b.offset + b.bytes)
