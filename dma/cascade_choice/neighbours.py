"""Sets of cascades next to a given one, for a search among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Program
from dma.cascade_choice.made_again import sole_tensors
from dma.cascade_choice.straight_chains import op_chains

CascadeSet = tuple[CascadeChoice, ...]


@dataclass(frozen=True, slots=True)
class CascadeProposals:
    """Sets of cascades in stripes of rows, sets of those that leave room to load weights several segments
    ahead, and sets of which some run in bands of columns; the most promising first."""

    rows: tuple[CascadeSet, ...]
    ahead: tuple[CascadeSet, ...] = ()
    banded: tuple[CascadeSet, ...] = ()
    passing: tuple[CascadeSet, ...] = ()
    """Sets where tensors that do not fit pass through SharedMemory in stripes."""
    again: tuple[CascadeSet, ...] = ()
    """Sets that compute rows again."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A cascade by the number of its chain and the ops of the chain that it has."""

    chain: int
    ops: Interval
    choice: CascadeChoice


class Neighbourhood:
    """Changes of sets of cascades: other borders, heights or staying weights, cascades joined or dropped."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.chains = op_chains(program)
        self.place = {op.name: (r, i) for r, chain in enumerate(self.chains) for i, op in enumerate(chain)}

    def of(self, given: CascadeSet) -> Iterator[CascadeSet]:
        """Every set that differs from ``given`` by one change. Some may be impossible."""
        placed = sorted(map(self._placed, given), key=lambda each: (each.chain, each.ops))
        for index, each in enumerate(placed):
            others = [*placed[:index], *placed[index + 1 :]]
            for changed in self._changed(each):
                if self._fits(changed, others):
                    yield _set([*others, changed])
            yield _set(others)
            following = placed[index + 1] if index + 1 < len(placed) else None
            if following and following.chain == each.chain and following.ops.start == each.ops.stop:
                heights = (*each.choice.heights, *following.choice.heights)
                reloaded = (*each.choice.reloaded, *following.choice.reloaded)
                again = (*each.choice.again, *following.choice.again)
                both = replace(each, choice=replace(each.choice, reloaded=reloaded, again=again))
                joined = self._made(both, Interval(each.ops.start, following.ops.stop), heights)
                yield _set([*others[:index], joined, *others[index + 1 :]])

    def _placed(self, choice: CascadeChoice) -> _Placed:
        chain, start = self.place[choice.ops[0]]
        return _Placed(chain, Interval(start, start + len(choice.ops)), choice)

    def _made(self, each: _Placed, ops: Interval, heights: tuple[int, ...]) -> _Placed:
        """``each`` with other ops and heights; the others load their weights again as before."""
        names = tuple(op.name for op in self.chains[each.chain][ops.start : ops.stop])
        reloaded = tuple(name for name in each.choice.reloaded if name in names)
        alone = {*sole_tensors(self.chains[each.chain][ops.start : ops.stop])}
        again = tuple(name for name in each.choice.again if name in alone)
        changed = replace(each.choice, ops=names, heights=heights, reloaded=reloaded, again=again)
        return _Placed(each.chain, ops, changed)

    def _changed(self, each: _Placed) -> Iterator[_Placed]:
        start, stop, heights = each.ops.start, each.ops.stop, each.choice.heights
        count = len(heights)
        if start > 0:
            yield self._made(each, Interval(start - 1, stop), (heights[0], *heights))
        if stop < len(self.chains[each.chain]):
            yield self._made(each, Interval(start, stop + 1), (*heights, heights[-1]))
        if count > 2:
            yield self._made(each, Interval(start + 1, stop), heights[1:])
            yield self._made(each, Interval(start, stop - 1), heights[:-1])
        doubled = tuple(2 * height for height in heights)
        halved = tuple(max(1, height // 2) for height in heights)
        last = (*heights[:-1], 2 * heights[-1])
        for other in dict.fromkeys((doubled, halved, last)):
            if other != heights:
                yield self._made(each, each.ops, other)
        yield from self._reloads(each)

    def _reloads(self, each: _Placed) -> Iterator[_Placed]:
        """``each`` with all weights staying if some did not, otherwise with the large ones loaded again."""
        sizes = {op.name: self.program.block_bytes(op) for op in self.chains[each.chain]}
        largest = max(sizes[name] for name in each.choice.ops)
        large = tuple(name for name in each.choice.ops if sizes[name] >= max(1, largest / 4))
        if each.choice.reloaded or len(large) > 1:
            reloaded = () if each.choice.reloaded else large
            yield replace(each, choice=replace(each.choice, reloaded=reloaded))

    def _fits(self, each: _Placed, others: Sequence[_Placed]) -> bool:
        return not any(each.chain == other.chain and each.ops.overlaps(other.ops) for other in others)


def _set(placed: Sequence[_Placed]) -> CascadeSet:
    return tuple(each.choice for each in sorted(placed, key=lambda each: (each.chain, each.ops)))
