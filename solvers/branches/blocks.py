"""Pack arms as blocks of memory, innermost first.

With an exact packer the peak is the smallest of all plans with such blocks, although each block is packed by
itself: a smaller block leaves every plan around it correct, so no plan gains by a larger one.

What the source leaves open is defined here as follows.

* *Depth.* A buffer belongs to the innermost arm that contains its whole lifetime. One that is also alive
  outside of the arm (an operand from before the ``if``, a result that is read after it) belongs to the graph
  around the ``if`` and lives through all of the ``if``, as in a compiler whose ``if`` is one op.
* *Results of arms* may be a part of the block instead (``results``), as in the source's figure 2, where the
  block is what the ``if`` produces: it then lives to the last reader of a result. The arms and the results
  are then packed together.
* *Loops* are depths too, of one arm: a body is a sub-graph with a block of its own. The source leaves loops
  to later work and says only that what a loop uses lives as long as the loop, as an operand of one op does. A
  loop's block is the same with both mergers.
* *The ping-pong buffers* of a Region belong to the graph that contains the Region: Algorithm 3 makes a pair
  for each Region.
* *Alignment.* A block has the alignment of all that it contains.
* *Groups* that are colocated or separated belong together to the innermost arm around all of them; given
  offsets and memories have no meaning inside of a block, and are refused.

Source: Wang et al. 2025, Algorithm 2, and what it compares with (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import lcm

from chipmodel.errors import BadInput
from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import Interval, hull, merged
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.records import dataclass

Pack = Callable[[Problem], Plan]
BufferGroup = tuple[Buffer, ...]
"""Buffers that belong together: one alone, or those that a constraint names."""


def in_blocks(problem: Problem, nesting: Section, pack: Pack, unified: bool, results: bool = False) -> Plan:
    """Pack every arm by itself, innermost first; its peak is the size of a block in the graph around it, one
    for all arms of an ``if`` (``unified``, with their ``results`` or without) or one for each. Raises
    BadInput for given offsets and memories, and where ``pack`` has no plan.
    """
    if problem.memories or problem.apart or any(b.pinned is not None for b in problem.buffers):
        what = "blocks of arms cannot keep given offsets and memories"
        others = "--merge conflict or --merge exact"
        raise BadInput(what, hint=f"use {others}, which keep all constraints")
    blocks = _Blocks(problem, pack, unified, results)
    whole = blocks.section(nesting, _groups(problem), problem.capacity)
    plan = Plan({b.name: whole.offsets[b.name] for b in problem.buffers})
    return replace(plan, arena=whole.bytes) if whole.bytes > plan.top(problem) else plan


def has_blocks(problem: Problem, nesting: Section) -> bool:
    """Return whether some buffer lives within one arm or loop; otherwise blocks change nothing."""
    return any(True for group in _groups(problem) for _ in _arm_of(nesting, group))


@dataclass(frozen=True, slots=True)
class _PackedBlock:
    """A block: offsets of its buffers, its size and alignment."""

    offsets: Mapping[str, int]
    bytes: int
    alignment: int


@dataclass(frozen=True, slots=True)
class _Blocks:
    problem: Problem
    pack: Pack
    unified: bool
    results: bool

    def section(
        self,
        section: Section,
        groups: Sequence[BufferGroup],
        capacity: int | None = None,
        own: Sequence[Buffer] = (),
    ) -> _PackedBlock:
        """Pack everything that lives within ``section``, and ``own`` beside it; at its own depth a fork is
        one position."""
        at_depth, after, inside = self.sorted_groups(section, groups)
        blocks: dict[str, _PackedBlock] = {}
        time = _DepthTime(section)
        buffers = [replace(b, live=time.lives(b.live)) for b in (*own, *at_depth)]
        for number, fork in enumerate(section.forks):
            live = (fork.extent, *(i for b in after.get(number, ()) for i in b.live))
            arms = {which: groups for (fork_number, which), groups in inside.items() if fork_number == number}
            for block in self.fork_blocks(fork, arms, after.get(number, [])):
                # No buffer's name begins so: the names of tensors and ops are never empty.
                name = f"\0{len(blocks)}"
                blocks[name] = block
                buffers.append(Buffer(name, block.bytes, time.lives(live), block.alignment))
        buffers.sort(key=lambda b: b.live[0].start if b.live else 0)
        return self.placed(buffers, blocks, capacity)

    def sorted_groups(
        self, section: Section, groups: Sequence[BufferGroup]
    ) -> tuple[list[Buffer], dict[int, list[Buffer]], dict[tuple[int, int], list[BufferGroup]]]:
        """The buffers at ``section``'s own depth, the results of each fork, and what lies in each arm."""
        own: list[Buffer] = []
        after: dict[int, list[Buffer]] = {}
        inside: dict[tuple[int, int], list[BufferGroup]] = {}
        for group in groups:
            place = next(_arm_of(section, group), None)
            fork = _fork_of_result(section, group) if self.results and place is None else None
            if fork is not None:
                after.setdefault(fork, []).extend(group)
            elif place is None:
                own += group
            else:
                inside.setdefault(place, []).append(group)
        return own, after, inside

    def fork_blocks(
        self, fork: Fork, arms: Mapping[int, list[BufferGroup]], results: list[Buffer]
    ) -> Iterator[_PackedBlock]:
        """The blocks of a fork. With results, all arms are packed at once: no two have a position in common,
        so they share bytes, and conflicts say where a result may lie. Without, line 6 of Algorithm 2 takes
        the largest arm's size for all arms."""
        if results:
            inner = tuple(inner for arm in fork.arms for inner in arm.forks)
            groups = [group for arm in arms.values() for group in arm]
            yield self.section(Section(fork.extent, inner), groups, own=results)
            return
        blocks = [self.section(fork.arms[which], groups) for which, groups in sorted(arms.items())]
        if not self.unified or len(blocks) < 2:
            yield from blocks
            return
        offsets = {name: offset for block in blocks for name, offset in block.offsets.items()}
        yield _PackedBlock(offsets, max(b.bytes for b in blocks), lcm(*(b.alignment for b in blocks)))

    def placed(
        self, buffers: Sequence[Buffer], blocks: Mapping[str, _PackedBlock], capacity: int | None
    ) -> _PackedBlock:
        names = {b.name for b in buffers}
        part = Problem(
            tuple(buffers),
            capacity,
            colocated=tuple(g for g in self.problem.colocated if names.issuperset(g)),
            separated=tuple(p for p in self.problem.separated if names.issuperset(p)),
        )
        plan = self.pack(part)
        if not names.issubset(plan.offsets):
            raise BadInput("the packer has no plan for the blocks of the arms", hint="use --merge exact")
        offsets: dict[str, int] = {}
        for name, offset in plan.offsets.items():
            if name in blocks:
                offsets |= {inner: offset + at for inner, at in blocks[name].offsets.items()}
            else:
                offsets[name] = offset
        return _PackedBlock(offsets, plan.peak(part), lcm(*(b.alignment for b in buffers)))


def _arm_of(section: Section, group: BufferGroup) -> Iterator[tuple[int, int]]:
    """The fork and arm of ``section`` in which all of ``group`` lives, if there is one."""
    life = hull(i for b in group for i in b.live)
    number = section.fork_at(life.start) if len(life) else None
    if number is not None and all(b.live for b in group):
        for which, arm in enumerate(section.forks[number].arms):
            if arm.extent.start <= life.start and life.stop <= arm.extent.stop:
                yield number, which


def _fork_of_result(section: Section, group: BufferGroup) -> int | None:
    """The number of the ``if`` of which several arms write this buffer, if there is one."""
    buffer, *others = group
    if others or not buffer.live:
        return None
    number = section.fork_at(buffer.live[0].start)
    return None if number is None or section.forks[number].repeats else number


def _groups(problem: Problem) -> list[BufferGroup]:
    """The buffers in groups joined by constraints."""
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    links = ([index[name] for name in names] for names in (*problem.colocated, *problem.separated))
    return [tuple(problem.buffers[i] for i in group) for group in joined(len(index), links)]


class _DepthTime:
    """Maps positions of a section to those of its own depth, where a fork is one position."""

    def __init__(self, section: Section) -> None:
        self.solid = [fork.extent for fork in section.forks if len(fork.extent)]
        self.starts = [extent.start for extent in self.solid]
        self.saved = [0, *accumulate(len(extent) - 1 for extent in self.solid)]

    def lives(self, live: Sequence[Interval]) -> tuple[Interval, ...]:
        """``live`` in the positions of the depth."""
        return merged(Interval(self._at(i.start), self._at(i.stop - 1) + 1) for i in live if len(i))

    def _at(self, position: int) -> int:
        before = bisect_right(self.starts, position)
        if before and position < self.solid[before - 1].stop:
            return self.solid[before - 1].start - self.saved[before - 1]
        return position - self.saved[before]
