"""The complete search of ``solvers.loads.exact``: step by step, all states that may lead to the best plan.

A state is the set of loads issued before a step, the times at which the sequencer and the DMA engine are
free, and the times at which loads in flight end. Of two states with the same loads issued, one that is
nowhere later dominates the other. Three rules reduce the choices without losing the best plan
(docs/decisions has the arguments):

* a load that may be issued precedes every one that is needed later, takes as many cycles, and as many bytes
  or more;
* the load needed first is issued as soon as all remaining slices would fit in memory together;
* a state whose bound (``tail_bounds``) is no better than a known plan is dropped.

Source: this project (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solvers.loads.bound import tail_bounds
from solvers.loads.problem import StreamProblem

Waits = tuple[tuple[int, int], ...]
"""(wait point, end in cycles) of transfers in flight, both ascending. The point is twice the waiting step for
loads, one more for stores."""
Issues = tuple[int, tuple[int, ...], "Issues | None"]
"""A step, the slices issued at it, and those issued before in the same form."""


class LoadState(NamedTuple):
    """Before a step: ``clock`` is the sequencer's time, ``free`` (not earlier) when the engine has done all
    that was issued."""

    clock: int
    free: int
    waits: Waits
    issued: int
    """The slices issued, one bit each."""
    ahead: tuple[int, ...]
    """Slices issued for this step or later ones, in the order in which they are needed."""
    history: Issues | None


@dataclass(slots=True)
class PassResult:
    """The result of one pass: the fastest plan below the limit, and a bound for all others."""

    end: int | None
    positions: list[int]
    bound: int | None
    """The least bound of dropped states; None where none was dropped."""


class NodeBudget:
    """A limit of nodes and of time: ``left`` yields whether the seconds are over."""

    def __init__(self, nodes: int | None, left: Iterator[bool]) -> None:
        self.most, self.nodes, self._late = nodes, 0, left

    def spent(self) -> bool:
        """Whether a limit is reached."""
        return (self.most is not None and self.nodes >= self.most) or next(self._late)


class LoadSearch:
    """Search all plans with at most ``spare`` bytes in memory besides what each step reads."""

    def __init__(self, problem: StreamProblem, spare: Sequence[int]) -> None:
        self.problem, self.spare = problem, spare
        self.count = len(problem.computes)
        self.tails = tail_bounds(problem, spare)
        self.firsts = [s.first for s in problem.slices]
        self.before = _must_go_before(problem)
        self.reach = _reach(spare)
        self.fits_up_to = _fits_up_to(problem, spare)
        self.awaited = [(0, False)] * self.count
        self.later: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.stores: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self._sort_fixed()
        self.bounds: dict[int, _StateBounds] = {}
        self.root = self._bounds(-1).bound(LoadState(0, 0, (), 0, (), None))

    def _sort_fixed(self) -> None:
        for move in sorted(self.problem.fixed, key=lambda m: m.due):
            if move.direction == "store":
                self.stores[move.issue].append((move.due, move.cycles))
            elif move.due == move.issue:
                self.awaited[move.issue] = self.awaited[move.issue][0] + move.cycles, True
            else:
                self.later[move.issue].append((move.due, move.cycles))

    def run(self, width: int | None, turns: int | None, limit: int, effort: NodeBudget) -> PassResult:
        """A pass with at most ``width`` states before each step, and at most ``turns`` slices skipped at each
        step that would fit (None: unlimited); only plans that end before ``limit``."""
        left_out: list[int] = []
        layer = [LoadState(0, 0, (), 0, (), None)]
        for here in range(self.count):
            bounds = self._bounds(here)
            found: dict[int, list[LoadState]] = {}
            for state in layer:
                effort.nodes += 1
                if effort.spent():
                    return PassResult(None, [], 0)
                children, cut = self._after(state, here, turns)
                if cut:
                    left_out.append(self._bounds(here - 1).bound(state))
                for child in children:
                    effort.nodes += 1
                    if bounds.bound(child) < limit:
                        _keep(found.setdefault(child.issued, []), child)
            layer = [state for states in found.values() for state in states]
            if width is not None and len(layer) > width:
                layer.sort(
                    key=lambda state: (bounds.bound(state), state.free - bounds.moved(state), state.clock)
                )
                left_out.append(bounds.bound(layer[width]))
                del layer[width:]
        best = min(layer, key=lambda state: state.clock, default=None)
        bound = min(left_out, default=None)
        if best is None:
            return PassResult(None, [], bound)
        return PassResult(best.clock, self._positions(best), bound)

    def _positions(self, state: LoadState) -> list[int]:
        positions = list(self.firsts)
        history = state.history
        while history is not None:
            here, slices, history = history
            for index in slices:
                positions[index] = here
        return positions

    def _bounds(self, here: int) -> _StateBounds:
        if here not in self.bounds:
            self.bounds[here] = _StateBounds(self, here)
        return self.bounds[here]

    def _after(self, state: LoadState, here: int, turns: int | None) -> tuple[list[LoadState], bool]:
        """The states after step ``here``, and whether some were dropped."""
        clock = max(state.clock, _latest(state.waits, 2 * here))
        free = max(state.free, clock)
        issued, slices = state.issued, self.problem.slices
        cycles, waits_for_it = self.awaited[here]
        for index in range(*self._of(here)):
            if not issued >> index & 1:
                cycles += slices[index].cycles
                waits_for_it = True
                issued |= 1 << index
        free += cycles
        clock = free if waits_for_it else clock
        ahead = tuple(i for i in state.ahead if slices[i].first > here)
        ways = _IssueSets(self, here, issued, ahead, turns)
        arrived = LoadState(clock, free, state.waits, issued, ahead, state.history)
        return [self._compute(arrived, here, way) for way in ways.all()], ways.cut

    def _of(self, here: int) -> tuple[int, int]:
        """The range of slices whose first reader is ``here``."""
        stop = bisect_right(self.firsts, here)
        return bisect_right(self.firsts, here - 1), stop

    def _compute(self, arrived: LoadState, here: int, way: tuple[int, ...]) -> LoadState:
        """The state after step ``here``, which issues the slices ``way`` once its own have ``arrived``."""
        clock, free, waits, issued, ahead, history = arrived
        ends = list(waits)
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
        history = (here, way, history) if way else history
        together = tuple(sorted((*ahead, *way))) if way else ahead
        return LoadState(clock, max(free, clock), _canonical(ends, clock), issued, together, history)


class _IssueSets:
    """The sets of slices that a step may issue for later steps."""

    def __init__(
        self, search: LoadSearch, here: int, issued: int, ahead: tuple[int, ...], turns: int | None
    ) -> None:
        self.search, self.here, self.issued, self.turns = search, here, issued, turns
        self.cut = False
        self.first = bisect_right(search.firsts, here)
        self.stop = bisect_right(search.firsts, search.reach[here])
        self.left = list(search.spare[here : search.reach[here]])
        for index in ahead:
            self._take(index, -1)

    def all(self) -> Iterator[tuple[int, ...]]:
        """Each set once, in the order of need; the set of all that fit comes first."""
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
        if issued >> index & 1:
            return False
        if self.search.before[index] & ~issued:
            return False
        return all(left >= each.bytes for left in self.left[: each.first - self.here])

    def _must(self, index: int, issued: int) -> bool:
        """Whether the slice is the one needed first, and nothing else could use its space or be delayed by
        it."""
        earlier = (1 << index) - 1
        if earlier & ~issued:
            return False
        return self.search.fits_up_to[self.here] >= self.search.problem.slices[index].first

    def _take(self, index: int, sign: int) -> None:
        each = self.search.problem.slices[index]
        for step in range(each.first - self.here):
            self.left[step] += sign * each.bytes


class _StateBounds:
    """Lower bounds of states after step ``here``."""

    def __init__(self, search: LoadSearch, here: int) -> None:
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
        """For each step, cycles of all transfers not yet issued that its start waits for."""
        total = 0
        for step in range(count + 1):
            total += due[step]
            self.sums.append(total)
        self.best = [0] * (count + 1)
        """For each step, the largest sum of these cycles and the tail bound, over the step and all later
        ones."""
        best = 0
        for step in range(count, here, -1):
            best = max(best, self.sums[step] + self.tails[step])
            self.best[step] = best

    def moved(self, state: LoadState) -> int:
        """Cycles of the slices that are loaded before they are needed."""
        return sum(self.slices[index].cycles for index in state.ahead)

    def bound(self, state: LoadState) -> int:
        """A lower bound of the end of every plan that continues from ``state``."""
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
    """When all transfers awaited up to ``point`` have ended."""
    return max((end for at, end in waits if at <= point), default=0)


def _canonical(ends: list[tuple[int, int]], clock: int) -> Waits:
    """``ends`` without those that delay no step."""
    result: list[tuple[int, int]] = []
    for point, end in sorted(ends):
        if end > clock:
            if result and result[-1][0] == point:
                result.pop()
            result.append((point, end))
            clock = end
    return tuple(result)


def _keep(states: list[LoadState], new: LoadState) -> None:
    """Add ``new`` to the states of the same loads unless one dominates it; remove those that it dominates."""
    if any(_dominates(state, new) for state in states):
        return
    states[:] = [state for state in states if not _dominates(new, state)]
    states.append(new)


def _dominates(one: LoadState, other: LoadState) -> bool:
    """Whether ``one`` is nowhere later than ``other``."""
    if one.clock > other.clock or one.free > other.free:
        return False
    return all(end <= max(other.clock, _latest(other.waits, point)) for point, end in one.waits)


def _must_go_before(problem: StreamProblem) -> list[int]:
    """For each slice the set (as bits) of those needed earlier that take as long and no more bytes."""
    result: list[int] = []
    for index, each in enumerate(problem.slices):
        bits = 0
        for other in range(index):
            one = problem.slices[other]
            if one.bytes <= each.bytes and one.cycles == each.cycles:
                bits |= 1 << other
        result.append(bits)
    return result


def _reach(spare: Sequence[int]) -> list[int]:
    """For each step the next one (or itself) without spare bytes, through which nothing can be kept."""
    result = [len(spare)] * len(spare)
    for here in range(len(spare) - 1, -1, -1):
        if not spare[here]:
            result[here] = here
        elif here + 1 < len(spare):
            result[here] = result[here + 1]
    return result


def _fits_up_to(problem: StreamProblem, spare: Sequence[int]) -> list[int]:
    """For each step the furthest step up to which all later slices would fit together, with no fixed transfer
    issued in between."""
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
