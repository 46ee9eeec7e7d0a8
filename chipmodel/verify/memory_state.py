"""The state of SharedMemory and Psram on the abstract machine of ``verify``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from chipmodel.geometry.interval import Interval, StridedBytes
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import AnyTransfer, DmaMove, DmaStart, Located
from chipmodel.model.schedule import Part
from chipmodel.records import dataclass
from chipmodel.verify.coverage import EMPTY, Coverage, begin_alike, disjoint
from chipmodel.verify.rolling import RollingRows, clash

T = TypeVar("T", bound=AnyTransfer)
ContentsKey = tuple[str, bool, int]
"""Name, whether it is an op's weights, and offset."""
_KNOWN = ("contents", "stored", "written", "unstored", "updated", "copies")
"""What is known of the contents of both memories, by key."""


@dataclass(frozen=True, slots=True)
class BufferContents:
    """The shares of one tensor or weight block in the buffer at ``addresses`` of SharedMemory."""

    addresses: StridedBytes
    coverage: Coverage | RollingRows


@dataclass
class MemoryState:
    """What is known of both memories at one point of a plan; states with the same knowledge are equal.

    A step that writes a share a second time begins a new definition of the tensor, and every copy of the old
    one is stale. A step may also *update* single shares of a tensor: then Psram has all of it but the
    ``unstored`` shares.
    """

    psram: frozenset[str]
    """Tensors whose newest definition is complete in Psram."""
    contents: dict[ContentsKey, BufferContents] = field(default_factory=dict[ContentsKey, BufferContents])
    """Bytes of SharedMemory."""
    stored: dict[str, Coverage] = field(default_factory=dict[str, Coverage])
    """Shares of the newest definition of each tensor whose store has been waited for."""
    written: dict[str, Coverage] = field(default_factory=dict[str, Coverage])
    """Shares of the newest definition of each tensor that steps have written."""
    unstored: dict[str, frozenset[Share]] = field(default_factory=dict[str, frozenset[Share]])
    """Shares that have been updated in SharedMemory, and not yet stored."""
    updated: dict[str, Coverage] = field(default_factory=dict[str, Coverage])
    """Shares that are new where an op updates a whole tensor; the other ones can still be read as before."""
    in_flight: dict[str, DmaStart] = field(default_factory=dict[str, DmaStart])
    lost: frozenset[str] = frozenset()
    """Transfers in flight that some path to here has waited for, and whose data are not there any more. Where
    every such path still has the data, the transfer counts as not waited for."""
    waited_for: frozenset[str] = frozenset()
    """Transfers that every path to here has waited for, by name; of each name the latest."""
    moving: dict[str, DmaMove] = field(default_factory=dict[str, DmaMove])
    """Moves in flight, which begin and end outside of branches and loops."""
    copies: dict[Part, Interval] = field(default_factory=dict[Part, Interval])
    """Where tensors and weight slices lie besides their homes, as moves have brought them there."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The bytes of each tensor."""

    def copy(self) -> MemoryState:
        """An independent copy; the values themselves are frozen."""
        own: dict[str, Any] = {name: dict(getattr(self, name)) for name in (*_KNOWN, "in_flight", "moving")}
        return replace(self, **own)

    def common(self, other: MemoryState) -> MemoryState:
        """What holds in both states; a transfer is in flight where it is in one of them."""
        known = partial(getattr, other)
        both: dict[str, Any] = {
            name: {key: value for key, value in getattr(self, name).items() if known(name).get(key) == value}
            for name in _KNOWN
        }
        return replace(
            self.copy(),
            psram=self.psram & other.psram,
            in_flight=self.in_flight | other.in_flight,
            lost=self.lost | other.lost | self._lost_from(other) | other._lost_from(self),
            waited_for=self.waited_for & other.waited_for,
            **both,
        )

    def _lost_from(self, other: MemoryState) -> frozenset[str]:
        """Transfers in flight in ``other`` but not here, whose data are not here."""
        ended = (start for name, start in other.in_flight.items() if name not in self.in_flight)
        return frozenset(
            start.name
            for start in ended
            if start.direction == "store"
            or any(self.contents.get(key) != held for key, held in self._loaded(start).items())
        )

    def _loaded(self, start: DmaStart) -> dict[ContentsKey, BufferContents]:
        """What a load leaves in SharedMemory."""
        at = start.at
        if at.rolls and at.part.name in self.sizes:
            known = self.contents.get(_key(at))
            there = known.coverage if known and known.addresses == at.addresses else None
            if not isinstance(there, RollingRows) or there.first != at.first:
                there = RollingRows(self.sizes[at.part.name], at.bytes, first=at.first)
            return {_key(at): BufferContents(at.addresses, there.add(at.part.share))}
        return {_key(at): BufferContents(at.addresses, EMPTY.add(at.part.share))}

    def same_transfers(self, other: MemoryState) -> bool:
        """Whether each transfer in flight in one state is so in the other, or has been waited for there."""
        return all(
            a.in_flight.get(name) == start or (name not in a.in_flight and name in a.waited_for)
            for a, b in ((self, other), (other, self))
            for name, start in b.in_flight.items()
        )

    def after_loop(self, before: MemoryState) -> MemoryState:
        """The state after a loop that ends in this state, where ``before`` holds if it makes no iteration.

        Only transfers are joined: what a loop defines is not read where it makes no iteration.
        """
        joined = self.common(before)
        state = self.copy()
        state.in_flight, state.lost, state.waited_for = joined.in_flight, joined.lost, joined.waited_for
        return state

    def in_psram(self, name: str) -> bool:
        """Whether the newest definition of ``name`` is completely in Psram."""
        return name in self.psram

    def will_be_in_psram(self, name: str) -> bool:
        """Whether the newest definition of ``name`` is completely in Psram when the stores in flight end."""
        stores = (s.at.part for s in self.in_flight.values() if s.direction == "store")
        shares = {part.share for part in stores if part.name == name}
        if name in self.unstored:
            return self.unstored[name] <= shares and name not in self.updated
        coverage = self.stored.get(name, EMPTY)
        for share in shares:
            coverage = coverage.add(share)
        return name in self.psram or coverage.complete

    def lose_in_psram(self, names: Collection[str]) -> None:
        """Forget the copies in Psram of the tensors ``names``, whose bytes a store overwrites."""
        self.psram -= set(names)
        for name in names:
            for shares in (self.stored, self.unstored, self.updated):
                shares.pop(name, None)

    def can_load(self, part: Part) -> bool:
        """Whether ``part`` is completely in Psram: of its newest definition, whose other parts may still be
        in flight, or, while the tensor is being updated, of the value that this share had before."""
        if part.name in self.psram:
            return True
        if (updated := self.updated.get(part.name)) is not None:
            return disjoint(part.share, updated.shares)
        return part.name in self.stored and self.stored[part.name].holds(part.share)

    def missing(self, place: Located) -> str | None:
        """Say why ``place.part`` cannot be read at ``place``; None where it can."""
        part = place.part
        for start in self.in_flight.values():
            if start.direction == "load" and self._meet(start.at, place):
                return f"reads {part.name!r} at {place.offset} while {start.name!r} is in flight"
        held = self.contents.get(_key(place))
        if held is None:
            return f"{part.name!r} is not at {place.offset}"
        if part.weights and held.addresses != place.addresses and self._in_pieces(place):
            return None
        if held.addresses != place.addresses:
            here, there = held.addresses, place.addresses
            if here.count == there.count == 1:
                return f"{part.name!r} at {place.offset} takes {here.length} bytes, not {there.length}"
            how = f"{there.count} runs, {there.pitch} bytes apart"
            return f"{part.name!r} at {place.offset} does not lie in {how}"
        if isinstance(held.coverage, RollingRows) != place.rolls:
            return f"{part.name!r} at {place.offset} is {'not ' * place.rolls}in a rolling buffer"
        if isinstance(held.coverage, RollingRows) and held.coverage.first != place.first:
            return f"{part.name!r} does not begin at {place.first} of the rolling buffer at {place.offset}"
        if held.coverage.holds(part.share):
            return None
        return f"{part.name!r} at {place.offset} is not complete"

    def _in_pieces(self, place: Located) -> bool:
        """Whether the weights of ``place`` lie there in several pieces, each after the channels before it."""
        offset, share = place.offset, place.part.share
        pieces: list[Share] = []
        while (held := self.contents.get((place.part.name, True, offset))) and offset < place.addresses.stop:
            pieces += held.coverage.shares if isinstance(held.coverage, Coverage) else ()
            offset = held.addresses.stop
        follows = all(a.channels.stop == b.channels.start for a, b in pairwise(pieces))
        begins = bool(pieces) and begin_alike(share, pieces[0])
        whole = (
            sum((Coverage().add(piece).area for piece in pieces), Fraction(0)) == Coverage().add(share).area
        )
        return offset == place.addresses.stop and begins and follows and whole

    def misplaced(self, place: Located) -> str | None:
        """Say why the rows in a buffer are not where ``place`` reads them, although they may be there: a
        buffer holds the latest share alone, from its first byte on. None where they are, or nothing is."""
        held = self.contents.get(_key(place))
        if held is None or isinstance(held.coverage, RollingRows) or place.in_tensor:
            return None
        shares = held.coverage.shares
        if len(shares) != 1 or begin_alike(place.part.share, *shares):
            return None
        return f"{place.part.name!r} at {place.offset} begins with other rows, channels or columns"

    def start(self, start: DmaStart) -> list[str]:
        """Begin a transfer, return its faults. A load's target is undefined until it is waited for."""
        reads = start.direction == "store"
        faults = self._transfer_conflicts(start.at, f"transfer {start.name!r}", reads)
        if start.name in self.in_flight:
            faults.append(f"transfer {start.name!r} starts again before it has been waited for")
        if start.direction == "load":
            self._invalidate(start.at, self.sizes.get(start.part.name) if start.at.rolls else None)
        self.in_flight[start.name] = of_any_iteration(start)
        self.lost, self.waited_for = self.lost - {start.name}, self.waited_for - {start.name}
        return faults

    def move(self, move: DmaMove) -> list[str]:
        """Begin a move, and return its faults. What lies at its target is lost."""
        faults: list[str] = []
        if move.name in self.in_flight or move.name in self.moving:
            faults.append(f"transfer {move.name!r} starts again before it has been waited for")
        self.lose_copies(move.target)
        self.moving[move.name] = move
        return faults

    @property
    def transfers(self) -> tuple[AnyTransfer, ...]:
        """All in flight."""
        return (*self.in_flight.values(), *self.moving.values())

    def lose_copies(self, target: Interval) -> None:
        """Forget the copies whose bytes off chip are written."""
        self.copies = {part: at for part, at in self.copies.items() if not at.overlaps(target)}

    def wait(self, name: str) -> list[str]:
        """End a transfer, and return its faults. Its data have arrived, unless some path has waited before
        and reused their bytes since. Where every path has waited before, nothing happens."""
        if name in self.moving:
            move = self.moving.pop(name)
            self.copies[move.part] = move.target
            return []
        start = self.in_flight.pop(name, None)
        if start is None:
            fault = f"a command waits for transfer {name!r}, which is not in flight"
            return [] if name in self.waited_for else [fault]
        self.waited_for |= {name}
        if name in self.lost:
            self.lost -= {name}
            return []
        part = start.at.part
        if start.direction == "load":
            self.contents |= self._loaded(start)
        elif part.name in self.unstored:
            self._end_store_of_update(part)
        else:
            coverage = self.stored.get(part.name, EMPTY).add(part.share)
            self.stored[part.name] = coverage
            if coverage.complete:
                self.psram |= {part.name}
        return []

    def write(
        self, place: Located, subject: str, accumulates: bool, nothing: Coverage | RollingRows = EMPTY
    ) -> list[str]:
        """Let the step ``subject`` write ``place.part``, and return the faults. ``accumulates`` where the
        buffer holds the whole tensor, or rolls, so that parts add up; a smaller buffer holds the latest part
        alone. ``nothing`` is what a buffer holds before."""
        part = place.part
        faults = self._transfer_conflicts(place, subject, reads=False)
        written = self.written.get(part.name, EMPTY)
        if part.share in written:
            faults += self._discard_copies(part.name, subject)
            written = EMPTY
        self.written[part.name] = written.add(part.share)
        key = (part.name, False, place.offset)
        before = self.contents.get(key) if accumulates else None
        known = before.coverage if before and before.addresses == place.addresses else nothing
        if (known.first if isinstance(known, RollingRows) else None) != (
            place.first if place.rolls else None
        ):
            known = nothing
        self._invalidate(place, known.total if isinstance(known, RollingRows) else None)
        self.contents[key] = BufferContents(place.addresses, known.add(part.share))
        return faults

    def begin(self, names: Collection[str], subject: str) -> list[str]:
        """Begin new definitions of ``names``, as their first rows may be read before the last ones of
        another tensor are written; return the faults."""
        return [fault for name in names for fault in self._discard_copies(name, subject)]

    def allocate(self, name: str, subject: str) -> list[str]:
        """Define ``name`` with arbitrary contents, so that all of it is in Psram; return the faults."""
        faults = self._discard_copies(name, subject)
        self.psram |= {name}
        return faults

    def update(self, place: Located, subject: str, whole: bool, passes: bool) -> list[str]:
        """Let the step ``subject`` update ``place.part`` and keep the rest; return the faults.

        ``whole`` where the buffer holds all of the tensor; otherwise the rest is in Psram. ``passes`` where
        the step is one of those that update every share, and so may read the old value of the others.
        """
        part = place.part
        faults = self._transfer_conflicts(place, subject, reads=False)
        faults += [
            f"{subject} updates {part.name!r} while {start.name!r} is in flight"
            for start in self.in_flight.values()
            if start.at.part.name == part.name
            and not start.at.part.weights
            and not disjoint(part.share, {start.at.part.share})
        ]
        self.copies.pop(Part(part.name), None)
        key = (part.name, False, place.offset)
        before = self.contents.get(key)
        stored = part.name in self.psram or part.name in self.unstored or part.name in self.updated
        if whole and not (before and before.coverage.complete):
            faults.append(f"{subject} updates {part.name!r}, which is not complete at {place.offset}")
        if not whole and not stored:
            faults.append(f"{subject} updates {part.name!r}, which is not completely in Psram")
        self.contents = {
            k: v
            for k, v in self.contents.items()
            if k[0] != part.name or k[1] or disjoint(part.share, v.coverage.shares)
        }
        self._invalidate(place)
        coverage = EMPTY.add(WHOLE if whole else part.share)
        self.contents[key] = BufferContents(place.addresses, coverage)
        self._mark_unstored(part, stored, passes)
        return faults

    def _mark_unstored(self, part: Part, stored: bool, passes: bool) -> None:
        if not passes and part.share in self.unstored.get(part.name, ()):
            del self.unstored[part.name]  # the slice before it was never stored
        elif stored:
            self.psram -= {part.name}
            self.unstored[part.name] = self.unstored.get(part.name, frozenset()) | {part.share}
        if passes:
            self.updated[part.name] = self.updated.get(part.name, EMPTY).add(part.share)
            if self.updated[part.name].complete:
                del self.updated[part.name]

    def _end_store_of_update(self, part: Part) -> None:
        if left := self.unstored[part.name] - {part.share}:
            self.unstored[part.name] = left
            return
        del self.unstored[part.name]
        if part.name not in self.updated:
            self.psram |= {part.name}

    def end(self, name: str) -> None:
        """Forget all rows of ``name``, which are made again for each step that reads some."""
        self.contents = {k: v for k, v in self.contents.items() if k[0] != name or k[1]}
        self.written.pop(name, None)

    def _discard_copies(self, name: str, subject: str) -> list[str]:
        """Make every copy of the old value of ``name`` stale; return the faults."""
        self.end(name)
        self.lose_in_psram((name,))
        self.copies.pop(Part(name), None)
        return [
            f"{subject} writes {name!r} again while {start.name!r} is in flight"
            for start in self.transfers
            if start.part.name == name and not start.part.weights
        ]

    def _transfer_conflicts(self, place: Located, subject: str, reads: bool) -> list[str]:
        """Faults for transfers in flight that use bytes of ``place``; a store and a read may share them."""
        touched = Interval(place.offset, place.offset + place.bytes)
        return [
            f"{subject} touches bytes {touched} while {start.name!r} is in flight there"
            for start in self.in_flight.values()
            if self._meet(start.at, place) and not (reads and start.direction == "store")
        ]

    def _meet(self, a: Located, b: Located) -> bool:
        """Whether the two places share bytes: in one rolling buffer, whether their parts do."""
        if a.rolls and b.rolls and a.addresses == b.addresses:
            return clash(a, self.sizes.get(a.part.name, a.bytes), b, self.sizes.get(b.part.name, b.bytes))
        return overlap(a, b)

    def _invalidate(self, place: Located, rolling: int | None = None) -> None:
        """Forget what lies in the bytes of ``place``. ``rolling`` is the size of a tensor in a rolling buffer
        of which its part is written there: of others in the same buffer, only those bytes are lost."""
        lost = place.addresses
        kept: dict[ContentsKey, BufferContents] = {}
        for key, held in self.contents.items():
            if not lost.overlaps(held.addresses):
                kept[key] = held
            elif rolling is not None and isinstance(held.coverage, RollingRows) and held.addresses == lost:
                kept[key] = BufferContents(lost, held.coverage.without(place, rolling))
        self.contents = kept


def overlap(a: Located, b: Located) -> bool:
    """Whether the two buffers share bytes of SharedMemory."""
    return a.addresses.overlaps(b.addresses)


def _key(place: Located) -> ContentsKey:
    return place.part.name, place.part.weights, place.offset


def of_any_iteration(start: T) -> T:
    """``start`` without the slice that it moves: the transfer before a loop and those in it are the same."""
    if isinstance(start, DmaMove):
        return start
    return replace(start, at=replace(start.at, advance=0), advance=0, ahead=0)
