"""The complete search behind ``stream_exact``: step by step, all states that may lead to the best plan.

A state is what has been issued before a step, and when the sequencer and the engine are free and loads in
flight arrive. Of two with the same loads issued, one that is nowhere later makes the other needless. Three
exchanges cut the choices without losing the best plan (docs/decisions has why they hold):

* a load that may be issued goes before every one that is needed later, takes as many cycles, and as many
  bytes or more;
* the load needed first is issued at once where all that is left would fit beside everything;
* a state whose ``tails`` bound is no better than a known plan is dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solvers.loads.bound import tails
from solvers.loads.problem import StreamProblem

Waits = tuple[tuple[int, int], ...]
"""Later ends of transfers by who waits: twice the step for loads, one more for stores. Both numbers grow."""
Issues = tuple[int, tuple[int, ...], "Issues | None"]
"""The slices issued at a step, and what was issued before."""


class State(NamedTuple):
    """Before a step: ``free`` is when the engine has done all that was issued, no earlier than ``clock``."""

    clock: int
    free: int
    waits: Waits
    issued: int
    """A bit for each slice."""
    ahead: tuple[int, ...]
    """Slices issued for this step or later ones, in the order of need."""
    how: Issues | None


@dataclass(slots=True)
class Pass:
    """What one pass found: the quickest plan below the limit, and a bound for all others."""

    end: int | None
    positions: list[int]
    bound: int | None
    """The least bound of what was left out; None where nothing was."""


class Effort:
    """Nodes that may be spent; ``late`` says whether the seconds are over."""

    def __init__(self, nodes: int | None, left: Iterator[bool]) -> None:
        self.most, self.nodes, self._late = nodes, 0, left

    def spent(self) -> bool:
        """Whether to stop."""
        return (self.most is not None and self.nodes >= self.most) or next(self._late)


class Search:
    """All plans with at most ``spare`` bytes beside what each step reads."""

    def __init__(self, problem: StreamProblem, spare: Sequence[int]) -> None:
        self.problem, self.spare = problem, spare
        self.count = len(problem.computes)
        self.tails = tails(problem, spare)
        self.firsts = [s.first for s in problem.slices]
        self.before = _must_go_before(problem)
        self.open = _open(problem)
        self.reach = _reach(spare)
        self.roomy = _roomy(problem, spare)
        self.at_once = [(0, False)] * self.count
        self.later: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.stores: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self._sort_fixed()
        self.known: dict[int, _Needs] = {}
        self.root = self._needs(-1).bound(State(0, 0, (), 0, (), None))

    def _sort_fixed(self) -> None:
        for move in sorted(self.problem.fixed, key=lambda m: m.due):
            if move.direction == "store":
                self.stores[move.issue].append((move.due, move.cycles))
            elif move.due == move.issue:
                self.at_once[move.issue] = self.at_once[move.issue][0] + move.cycles, True
            else:
                self.later[move.issue].append((move.due, move.cycles))

    def run(self, width: int | None, turns: int | None, limit: int, effort: Effort) -> Pass:
        """At most ``width`` states before each step, and ``turns`` departures from loading all that fits at
        each; only plans that end before ``limit``."""
        left_out: list[int] = []
        layer = [State(0, 0, (), 0, (), None)]
        for here in range(self.count):
            needs = self._needs(here)
            found: dict[int, list[State]] = {}
            for state in layer:
                effort.nodes += 1
                if effort.spent():
                    return Pass(None, [], 0)
                children, cut = self._after(state, here, turns)
                if cut:
                    left_out.append(self._needs(here - 1).bound(state))
                for child in children:
                    effort.nodes += 1
                    if needs.bound(child) < limit:
                        _keep(found.setdefault(child.issued, []), child)
            layer = [state for states in found.values() for state in states]
            if width is not None and len(layer) > width:
                layer.sort(
                    key=lambda state: (needs.bound(state), state.free - needs.moved(state), state.clock)
                )
                left_out.append(needs.bound(layer[width]))
                del layer[width:]
        best = min(layer, key=lambda state: state.clock, default=None)
        bound = min(left_out, default=None)
        if best is None:
            return Pass(None, [], bound)
        return Pass(best.clock, self._positions(best), bound)

    def _positions(self, state: State) -> list[int]:
        positions = list(self.firsts)
        how = state.how
        while how is not None:
            here, slices, how = how
            for index in slices:
                positions[index] = here
        return positions

    def _needs(self, here: int) -> _Needs:
        if here not in self.known:
            self.known[here] = _Needs(self, here)
        return self.known[here]

    def _after(self, state: State, here: int, turns: int | None) -> tuple[list[State], bool]:
        """The states after step ``here``, and whether some were left out."""
        clock = max(state.clock, _latest(state.waits, 2 * here))
        free = max(state.free, clock)
        issued, slices = state.issued, self.problem.slices
        cycles, waits_for_it = self.at_once[here]
        for index in range(*self._of(here)):
            if not issued >> index & 1:
                cycles += slices[index].cycles
                waits_for_it = True
                issued |= 1 << index
        free += cycles
        clock = free if waits_for_it else clock
        ahead = tuple(i for i in state.ahead if slices[i].first > here)
        ways = _Ways(self, here, issued, ahead, turns)
        return [self._compute(state, here, clock, free, issued, ahead, way) for way in ways.all()], ways.cut

    def _of(self, here: int) -> tuple[int, int]:
        """The slices that ``here`` is the first to read, from and to."""
        stop = bisect_right(self.firsts, here)
        return bisect_right(self.firsts, here - 1), stop

    def _compute(
        self,
        state: State,
        here: int,
        clock: int,
        free: int,
        issued: int,
        ahead: tuple[int, ...],
        way: tuple[int, ...],
    ) -> State:
        ends = list(state.waits)
        slices = self.problem.slices
        queue = [(2 * due, cycles) for due, cycles in self.later[here]]
        for index in way:
            queue.append((2 * slices[index].first, slices[index].cycles))
            issued |= 1 << index
        for point, cycles in sorted(queue, key=lambda entry: entry[0]):
            free += cycles
            ends.append((point, free))
        clock += self.problem.computes[here]
        for due, cycles in self.stores[here]:
            free = max(free, clock) + cycles
            ends.append((2 * due + 1, free))
        clock = max([clock, *(end for point, end in ends if point == 2 * here + 1)])
        ends = [wait for wait in ends if 2 * here + 1 < wait[0] < 2 * self.count]
        how = (here, way, state.how) if way else state.how
        together = tuple(sorted((*ahead, *way))) if way else ahead
        return State(clock, max(free, clock), _canonical(ends, clock), issued, together, how)


class _Ways:
    """Sets of slices that a step may issue for later ones."""

    def __init__(
        self, search: Search, here: int, issued: int, ahead: tuple[int, ...], turns: int | None
    ) -> None:
        self.search, self.here, self.issued, self.turns = search, here, issued, turns
        self.cut = False
        self.first = bisect_right(search.firsts, here)
        self.stop = bisect_right(search.firsts, search.reach[here])
        self.left = list(search.spare[here : search.reach[here]])
        for index in ahead:
            self._take(index, -1)

    def all(self) -> Iterator[tuple[int, ...]]:
        """Each set once, in the order of need within; all that fit comes first."""
        yield from self._from(self.first, self.issued, (), self.turns)

    def _from(
        self, index: int, issued: int, chosen: tuple[int, ...], turns: int | None
    ) -> Iterator[tuple[int, ...]]:
        while index < self.stop and not self._may(index, issued):
            index += 1
        if index >= self.stop:
            yield chosen
            return
        self._take(index, -1)
        yield from self._from(index + 1, issued | 1 << index, (*chosen, index), turns)
        self._take(index, 1)
        if self._must(index, issued):
            return
        if turns == 0:
            self.cut = True
        elif turns is None:
            yield from self._from(index + 1, issued, chosen, None)
        else:
            yield chosen
            yield from self._from(index + 1, issued, chosen, turns - 1)

    def _may(self, index: int, issued: int) -> bool:
        each = self.search.problem.slices[index]
        if each.since > self.here or issued >> index & 1:
            return False
        if self.search.before[index] & self.search.open[self.here] & ~issued:
            return False
        return all(left >= each.bytes for left in self.left[: each.first - self.here])

    def _must(self, index: int, issued: int) -> bool:
        """Whether it is the one needed first, and nothing could want its room or be held up by it."""
        earlier = (1 << index) - 1
        if earlier & ~issued:
            return False
        return self.search.roomy[self.here] >= self.search.problem.slices[index].first

    def _take(self, index: int, sign: int) -> None:
        each = self.search.problem.slices[index]
        for step in range(each.first - self.here):
            self.left[step] += sign * each.bytes


class _Needs:
    """The bound of a state behind step ``here``."""

    def __init__(self, search: Search, here: int) -> None:
        self.search, self.here = search, here
        self.slices, self.tails = search.problem.slices, search.tails
        count = search.count
        due = [0] * (count + 2)
        for each in self.slices[bisect_right(search.firsts, here) :]:
            due[each.first] += each.cycles
        for move in search.problem.fixed:
            if move.issue > here and move.due < count:
                due[move.due + (move.direction == "store")] += move.cycles
        self.sums: list[int] = []
        """Cycles of what is not issued before, in all, that the start of a step waits for."""
        total = 0
        for step in range(count + 1):
            total += due[step]
            self.sums.append(total)
        self.best = [0] * (count + 1)
        """The largest of such sums and the tail behind, of a step and all later ones."""
        best = 0
        for step in range(count, here, -1):
            best = max(best, self.sums[step] + self.tails[step])
            self.best[step] = best

    def moved(self, state: State) -> int:
        """Cycles of the slices that are there before they are needed."""
        return sum(self.slices[index].cycles for index in state.ahead)

    def bound(self, state: State) -> int:
        """The least cycles at which a plan that goes on from ``state`` ends."""
        after = self.here + 1
        least = state.clock + self.tails[after]
        for point, end in state.waits:
            least = max(least, end + self.tails[min((point + 1) // 2, len(self.tails) - 1)])
        known, step = 0, after
        for index in state.ahead:
            first = self.slices[index].first
            while step < first:
                if self.sums[step] > known:
                    least = max(least, state.free + self.sums[step] - known + self.tails[step])
                step += 1
            known += self.slices[index].cycles
        step = max(step, bisect_right(self.sums, known))
        if step < len(self.sums):
            least = max(least, state.free + self.best[step] - known)
        return least


def _latest(waits: Waits, point: int) -> int:
    """When all that is waited for up to ``point`` has ended."""
    return max((end for at, end in waits if at <= point), default=0)


def _canonical(ends: list[tuple[int, int]], clock: int) -> Waits:
    """Without those that hold up nobody."""
    result: list[tuple[int, int]] = []
    for point, end in sorted(ends):
        if end > clock:
            if result and result[-1][0] == point:
                result.pop()
            result.append((point, end))
            clock = end
    return tuple(result)


def _keep(states: list[State], new: State) -> None:
    """Add ``new`` to those of the same loads, unless one of them is nowhere later; and not the reverse."""
    if any(_no_later(state, new) for state in states):
        return
    states[:] = [state for state in states if not _no_later(new, state)]
    states.append(new)


def _no_later(one: State, other: State) -> bool:
    if one.clock > other.clock or one.free > other.free:
        return False
    return all(end <= max(other.clock, _latest(other.waits, point)) for point, end in one.waits)


def _must_go_before(problem: StreamProblem) -> list[int]:
    """For each slice a bit for each that is needed earlier, takes as long, and takes no more bytes."""
    result: list[int] = []
    for index, each in enumerate(problem.slices):
        bits = 0
        for other in range(index):
            one = problem.slices[other]
            if one.bytes <= each.bytes and one.cycles == each.cycles:
                bits |= 1 << other
        result.append(bits)
    return result


def _open(problem: StreamProblem) -> list[int]:
    """For each step a bit for each slice that may be issued by then."""
    steps = range(len(problem.computes))
    return [sum(1 << i for i, s in enumerate(problem.slices) if s.since <= here) for here in steps]


def _reach(spare: Sequence[int]) -> list[int]:
    """For each step the next that has nothing to spare, itself included: nothing can lie there for later."""
    result = [len(spare)] * len(spare)
    for here in range(len(spare) - 1, -1, -1):
        if not spare[here]:
            result[here] = here
        elif here + 1 < len(spare):
            result[here] = result[here + 1]
    return result


def _roomy(problem: StreamProblem, spare: Sequence[int]) -> list[int]:
    """For each step the furthest up to which all later slices would fit beside everything, with no fixed
    transfer issued behind it."""
    count = len(spare)
    needed = [0] * (count + 1)
    for each in problem.slices:
        needed[each.first] += each.bytes
    fixed = {move.issue - (move.direction == "load") for move in problem.fixed}
    result = [0] * count
    later, reach = 0, count
    for here in range(count - 1, -1, -1):
        if here in fixed:
            reach = here
        later += needed[here + 1] if here + 1 < count else 0
        if later > spare[here]:
            reach = here
        result[here] = reach
    return result
