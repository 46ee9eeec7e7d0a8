"""The state of SharedMemory and Psram on the abstract machine of ``verify``, byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.commands import AnyTransfer, DmaMove, DmaStart, Located
from chipmodel.model.schedule import Part
from chipmodel.records import dataclass
from chipmodel.verify.places import bytes_of_share, placed_runs

T = TypeVar("T", bound=AnyTransfer)
Flags: TypeAlias = NDArray[np.bool_]
"""One for each byte of all tensors."""
Thing = tuple[str, bool]
"""The name of a tensor, or of an op whose weights are meant."""
UNKNOWN = -(1 << 31)
"""Less than the number of any byte less its address."""
NOTHING = Interval(0, 0)


@dataclass
class MemoryState:
    """What is known of both memories at one point of a plan.

    Every byte of every tensor and of every op's weights has a number, and one value at a time: a step that
    writes it again ends all of its copies. A step that writes a byte for the second time begins a new
    definition of the tensor, and all copies of the old one end; a step may also *update* a share of a tensor,
    whose other bytes stay.
    """

    numbers: Mapping[Thing, Interval]
    """The numbers of the bytes of everything, those of tensors first."""
    shared: NDArray[np.int32 | np.int64]
    """For each address of SharedMemory, the number of the byte that it holds less the address, which is the
    same for all bytes of a run; ``UNKNOWN`` where that is not known."""
    psram: Flags
    """Whether Psram has the byte."""
    written: Flags
    """Whether a step has written the byte in the newest definition of its tensor."""
    passed: Flags
    """Whether the byte is new in a tensor that an op updates as a whole, and that has others yet to come."""
    settled: frozenset[str] = frozenset()
    """Tensors whose newest definition has been completely in Psram once."""
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

    @classmethod
    def of(cls, tensors: Mapping[str, int], weights: Mapping[str, int], capacity: int) -> MemoryState:
        """The state in which nothing is known of tensors and of the weights of ops, whose bytes are given."""
        things = [*((name, False) for name in tensors), *((name, True) for name in weights)]
        ends = [0, *accumulate((*tensors.values(), *weights.values()))]
        known = {thing: Interval(*span) for thing, span in zip(things, pairwise(ends), strict=True)}
        flags = np.zeros((3, ends[len(tensors)]), np.bool_)
        width = np.int32 if ends[-1] < 1 << 31 else np.int64
        return cls(known, np.full(capacity, UNKNOWN, width), flags[0], flags[1], flags[2])

    def copy(self) -> MemoryState:
        """An independent copy."""
        names = (*ARRAYS, "in_flight", "moving", "copies")
        own: dict[str, Any] = {name: getattr(self, name).copy() for name in names}
        return replace(self, **own)

    def __eq__(self, other: object) -> bool:
        """Whether both know the same."""
        arrays, facts = attrgetter(*ARRAYS), attrgetter(*FACTS)
        pairs = zip(arrays(self), arrays(other), strict=True)
        return bool(facts(self) == facts(other) and all(np.array_equal(one, two) for one, two in pairs))

    def common(self, other: MemoryState) -> MemoryState:
        """What holds in both states; a transfer is in flight where it is in one of them."""
        return replace(
            self.copy(),
            shared=np.where(self.shared == other.shared, self.shared, UNKNOWN),
            psram=self.psram & other.psram,
            written=self.written | other.written,
            passed=self.passed | other.passed,
            settled=self.settled & other.settled,
            in_flight=self.in_flight | other.in_flight,
            lost=self.lost | other.lost | self._lost_from(other) | other._lost_from(self),
            waited_for=self.waited_for & other.waited_for,
            copies=dict(self.copies.items() & other.copies.items()),
        )

    def _lost_from(self, other: MemoryState) -> frozenset[str]:
        """Transfers in flight in ``other`` but not here, whose data are not here."""
        ended = (start for name, start in other.in_flight.items() if name not in self.in_flight)
        return frozenset(s.name for s in ended if s.direction == "store" or not self._has(s.at))

    def same_transfers(self, other: MemoryState) -> bool:
        """Whether each transfer in flight in one state is so in the other, or has been waited for there."""
        return all(
            a.in_flight.get(name) == start or (name not in a.in_flight and name in a.waited_for)
            for a, b in ((self, other), (other, self))
            for name, start in b.in_flight.items()
        )

    def after_loop(self, before: MemoryState, made: Collection[str]) -> MemoryState:
        """The state after a loop that ends in this state, where ``before`` holds if it makes no iteration.

        Of the tensors that it has ``made`` this state holds: they are not read where it makes no iteration.
        """
        state = self.common(before)
        for name in made:
            own, here = self._tensor(name), self._holding(name)
            state.shared[here] = self.shared[here]
            for flags, known in zip((state.psram, state.passed), (self.psram, self.passed), strict=True):
                flags[own] = known[own]
        state.settled |= self.settled & {*made}
        return state

    # -- bytes -------------------------------------------------------------------------------------

    def bytes_of(self, part: Part) -> list[slice]:
        """The numbers of the bytes of a part; none of what the program does not have."""
        known = self.numbers.get((part.name, part.weights), NOTHING)
        spans = bytes_of_share(part.share, len(known))
        return [slice(known.start + span.start, known.start + span.stop) for span in spans]

    def _size(self, part: Part) -> int:
        known = self.numbers.get((part.name, part.weights), NOTHING)
        return sum(map(len, bytes_of_share(part.share, len(known))))

    def _runs(self, place: Located) -> Iterator[tuple[slice, int]]:
        """The addresses of a part at its place, as far as there are such, with what ``shared`` then holds."""
        known = self.numbers.get((place.part.name, place.part.weights), NOTHING)
        for run in placed_runs(place, len(known)):
            start, stop = max(0, run.address), max(0, run.address + run.bytes)
            yield slice(start, stop), known.start + run.first - run.address

    def _held(self, place: Located) -> int:
        """How many bytes of a part are at its place."""
        return sum(int(np.count_nonzero(self.shared[at] == value)) for at, value in self._runs(place))

    def _has(self, place: Located) -> bool:
        """Whether all of a part is at its place."""
        return self._held(place) == self._size(place.part)

    def _put(self, place: Located) -> None:
        for at, value in self._runs(place):
            self.shared[at] = value

    def _holding(self, name: str, weights: bool = False, own: Sequence[slice] | None = None) -> Flags:
        """The addresses of SharedMemory that hold some of the bytes ``own``, or of all, of a tensor or of an
        op's weights."""
        known = self.numbers.get((name, weights), NOTHING)
        wanted = np.full(len(known) + 1, own is None)
        for span in own or ():
            wanted[span.start - known.start : span.stop - known.start] = True
        wanted[-1] = False  # what holds something else
        held = self.shared + np.arange(-known.start, len(self.shared) - known.start, dtype=self.shared.dtype)
        holding: Flags = wanted[np.where((held >= 0) & (held < len(known)), held, -1)]
        return holding

    def _tensor(self, name: str) -> slice:
        known = self.numbers.get((name, False), NOTHING)
        return slice(known.start, known.stop)

    def meet(self, a: Located, b: Located) -> bool:
        """Whether the two places share bytes: in one rolling buffer, whether their parts do."""
        if a.rolls and b.rolls and a.addresses == b.addresses:
            return _meet([at for at, _ in self._runs(a)], [at for at, _ in self._runs(b)])
        return a.addresses.overlaps(b.addresses)

    # -- Psram -------------------------------------------------------------------------------------

    def fill(self, name: str) -> None:
        """Let Psram have all of the newest definition of ``name``."""
        self.psram[self._tensor(name)] = True
        self.settled |= {name}

    def in_psram(self, name: str) -> bool:
        """Whether the newest definition of ``name`` is completely in Psram."""
        return self.can_load(Part(name))

    def will_be_in_psram(self, name: str) -> bool:
        """Whether the newest definition of ``name`` is completely in Psram when the stores in flight end."""
        after = self.psram.copy()
        for start in self.in_flight.values():
            if start.direction == "store" and not start.at.part.weights:
                for own in self.bytes_of(start.at.part):
                    after[own] = True
        return bool(after[self._tensor(name)].all())

    def lose_in_psram(self, names: Collection[str]) -> None:
        """Forget the copies in Psram of the tensors ``names``, whose bytes a store overwrites."""
        self.settled -= set(names)
        for name in names:
            self.psram[self._tensor(name)] = self.passed[self._tensor(name)] = False

    def can_load(self, part: Part) -> bool:
        """Whether ``part`` of a tensor is in Psram; of one that is being updated, with its old value."""
        own = self.bytes_of(part)
        return all(self.psram[span].all() and not self.passed[span].any() for span in own)

    def lose_copies(self, target: Interval) -> None:
        """Forget the copies whose bytes off chip are written."""
        self.copies = {part: at for part, at in self.copies.items() if not at.overlaps(target)}

    # -- transfers ---------------------------------------------------------------------------------

    @property
    def transfers(self) -> tuple[AnyTransfer, ...]:
        """All in flight."""
        return (*self.in_flight.values(), *self.moving.values())

    def start(self, start: DmaStart) -> list[str]:
        """Begin a transfer, return its faults. A load's target is undefined until it is waited for."""
        reads = start.direction == "store"
        faults = self._transfer_conflicts(start.at, f"transfer {start.name!r}", reads)
        if start.name in self.in_flight:
            faults.append(f"transfer {start.name!r} starts again before it has been waited for")
        if not reads:
            for at, _ in self._runs(start.at):
                self.shared[at] = UNKNOWN
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
        elif start.direction == "load":
            self._put(start.at)
        elif not start.at.part.weights:
            for own in self.bytes_of(start.at.part):
                self.psram[own] = True
            self.settled |= {start.at.part.name} if self.in_psram(start.at.part.name) else set()
        return []

    # -- steps -------------------------------------------------------------------------------------

    def missing(self, place: Located) -> str | None:
        """Say why ``place.part`` cannot be read at ``place``; None where it can."""
        name = place.part.name
        for start in self.in_flight.values():
            if start.direction == "load" and self.meet(start.at, place):
                return f"reads {name!r} at {place.offset} while {start.name!r} is in flight"
        size = self._size(place.part)
        if size > place.bytes and not place.rolls:
            return f"{name!r} at {place.offset} takes {size} bytes, not {place.bytes}"
        held = self._held(place)
        if held == size:
            return None
        return f"{name!r} at {place.offset} is not complete" if held else f"{name!r} is not at {place.offset}"

    def write(self, place: Located, subject: str) -> list[str]:
        """Let the step ``subject`` write ``place.part``, and return the faults."""
        faults = self._transfer_conflicts(place, subject, reads=False)
        own = self.bytes_of(place.part)
        if any(self.written[span].any() for span in own):
            faults += self.begin(place.part.name, subject)
        for span in own:
            self.written[span] = True
        self._put(place)
        return faults

    def update(self, place: Located, subject: str, whole: bool, passes: bool) -> list[str]:
        """Let the step ``subject`` update ``place.part`` and keep the rest; return the faults.

        ``whole`` where the buffer holds all of the tensor; otherwise the rest is in Psram. ``passes`` where
        the step is one of those that update every share, and so may read the old value of the others.
        """
        part, own = place.part, self.bytes_of(place.part)
        faults = self._transfer_conflicts(place, subject, reads=False)
        faults += [
            f"{subject} updates {part.name!r} while {start.name!r} is in flight"
            for start in self.in_flight.values()
            if not start.at.part.weights and _meet(own, self.bytes_of(start.at.part))
        ]
        if whole and not self._has(replace(place, part=Part(part.name))):
            faults.append(f"{subject} updates {part.name!r}, which is not complete at {place.offset}")
        if not whole and part.name not in self.settled:
            faults.append(f"{subject} updates {part.name!r}, which is not completely in Psram")
        self.copies.pop(Part(part.name), None)
        if not passes and not all(self.psram[span].all() for span in own):
            self.lose_in_psram((part.name,))  # the slice before it was never stored
        for span in own:
            self.psram[span], self.passed[span] = False, passes
        if self.passed[self._tensor(part.name)].all():
            self.passed[self._tensor(part.name)] = False
        self.shared[self._holding(part.name, False, own)] = UNKNOWN
        self._put(place)
        return faults

    def allocate(self, name: str, subject: str) -> list[str]:
        """Define ``name`` with arbitrary contents, so that all of it is in Psram; return the faults."""
        faults = self.begin(name, subject)
        self.fill(name)
        return faults

    def begin(self, name: str, subject: str) -> list[str]:
        """Begin a new definition of ``name``: every copy of the old value ends; return the faults."""
        self.end(name)
        self.lose_in_psram((name,))
        self.copies.pop(Part(name), None)
        return [
            f"{subject} writes {name!r} again while {start.name!r} is in flight"
            for start in self.transfers
            if start.part.name == name and not start.part.weights
        ]

    def end(self, name: str, weights: bool = False) -> None:
        """Forget all that SharedMemory has of a tensor, or of an op's weights."""
        known = self.numbers.get((name, weights), NOTHING)
        self.shared[self._holding(name, weights)] = UNKNOWN
        if not weights:
            self.written[known.start : known.stop] = False

    def _transfer_conflicts(self, place: Located, subject: str, reads: bool) -> list[str]:
        """Faults for transfers in flight that use bytes of ``place``; a store and a read may share them."""
        touched = Interval(place.offset, place.offset + place.bytes)
        return [
            f"{subject} touches bytes {touched} while {start.name!r} is in flight there"
            for start in self.in_flight.values()
            if self.meet(start.at, place) and not (reads and start.direction == "store")
        ]


ARRAYS = ("shared", "psram", "written", "passed")
FACTS = ("settled", "in_flight", "lost", "waited_for", "moving", "copies")


def of_any_iteration(start: T) -> T:
    """``start`` without the slice that it moves: the transfer before a loop and those in it are the same."""
    if isinstance(start, DmaMove):
        return start
    return replace(start, at=replace(start.at, advance=0), advance=0)


def _meet(some: Sequence[slice], others: Sequence[slice]) -> bool:
    """Whether something is in one of ``some`` and in one of ``others``."""
    one, other = (merged(Interval(each.start, each.stop) for each in spans) for spans in (some, others))
    return any(a.overlaps(b) for a in one for b in other)
