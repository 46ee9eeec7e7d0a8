"""The least cycles of a run in several parts, every order of its transfers tried: a byte moves in a cycle."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes that a part needs in memory, bytes that it makes there, and its cycles."""

    loads: int
    makes: int
    cycles: int


@dataclass(frozen=True, slots=True)
class _State:
    begun: int = 0
    left: int = 0
    """Cycles of the part that runs."""
    loaded: int = 0
    stored: int = 0
    earlier: int = 0
    """Bytes that have been stored of a tensor that lies in memory at first."""
    kept: int = 0
    """Bytes that have been stored since the part that runs began: they are free when it ends."""


def divisions(rows: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to divide ``rows`` into equal parts, of which the last one may be smaller."""
    for size in range(1, rows + 1):
        rest = rows % size
        yield (size,) * (rows // size) + ((rest,) if rest else ())


class PartsOracle:
    """Parts one after another, in ``capacity`` bytes. What they load is the tensor of ``earlier`` bytes that
    lies in memory at first and is stored before; or comes from outside. A part reads the last ``overlap``
    bytes of the one before it, too."""

    def __init__(self, parts: Sequence[Part], capacity: int, earlier: int = 0, overlap: int = 0) -> None:
        self.parts, self.room, self.earlier, self.overlap = parts, capacity, earlier, overlap
        self.needs = list(accumulate((part.loads for part in parts), initial=0))
        self.makes = list(accumulate((part.makes for part in parts), initial=0))

    def cycles(self) -> int | None:
        """Return the least cycles until all is computed and stored; None where it does not fit."""
        states, seen, clock = {_State()}, {_State()}, 0
        while states:
            if any(self._ended(state) for state in states):
                return clock
            states = {after for state in states for after in self._next(state)} - seen
            seen |= states
            clock += 1
        return None

    def _ended(self, state: _State) -> bool:
        complete = state.begun == len(self.parts) and not state.left
        return complete and state.stored == self.makes[-1]

    def _used(self, state: _State) -> int:
        """Bytes in memory: those of parts that have ended are gone, unless they are still to be stored."""
        ended = state.begun - (state.left > 0)
        made = self.makes[state.begun] - state.stored
        kept = self.overlap if 0 < ended < len(self.parts) else 0
        return state.loaded - self.needs[ended] + kept + made + self.earlier - state.earlier + state.kept

    def _next(self, state: _State) -> Iterator[_State]:
        for begun in self._begins(state):
            for moved in self._moves(begun):
                if self._used(moved) <= self.room:
                    left = max(0, moved.left - 1)
                    yield replace(moved, left=left, kept=moved.kept if left else 0)

    def _begins(self, state: _State) -> Iterator[_State]:
        yield state
        number = state.begun
        if not state.left and number < len(self.parts) and state.loaded >= self.needs[number + 1]:
            yield replace(state, begun=number + 1, left=self.parts[number].cycles)

    def _moves(self, state: _State) -> Iterator[_State]:
        yield state
        runs = state.left > 0
        if state.loaded < self.needs[-1] and (not self.earlier or state.loaded < state.earlier):
            yield replace(state, loaded=state.loaded + 1)
        if state.stored < self.makes[state.begun - runs]:
            yield replace(state, stored=state.stored + 1, kept=state.kept + runs)
        if state.earlier < self.earlier:
            yield replace(state, earlier=state.earlier + 1, kept=state.kept + runs)
