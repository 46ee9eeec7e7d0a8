"""The steps of a cascade, and the rows of its tensors that each of them reads, makes and holds.

Each step computes, of one op, the rows that a later op of the cascade needs and that are not there yet. Of a
tensor inside the cascade only some rows are ever in SharedMemory: in a *rolling buffer*, or, where a chip
cannot address one, in a buffer that holds the rows of one stripe, whose halo is then computed again.

A tensor in a rolling buffer may also be made ``again`` for each step that reads it: its op goes back to the
first row that the step reads, and between two such steps none of it is held.

Sources: rolling buffers as in Arm's Vela ("cascades"); computing the halo again as in Alwani et al. 2016
(fused layers) and Lin et al. 2021 (MCUNetV2, patches). See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from chipmodel.cascades.row_reads import RowReads
from chipmodel.cascades.shape import CascadeShape
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.cascade_work import CascadeStep, HeldRows, RowsInTurn
from chipmodel.model.program import Program

MAX_CASCADE_STEPS = 20_000
"""Steps of one cascade; one that needs more is too fine to be worth simulating."""
Groups = tuple[tuple[CascadeStep, ...], ...]


def rolling(
    program: Program,
    shape: CascadeShape,
    heights: Sequence[int],
    again: Collection[str] = (),
    fine: bool = False,
) -> tuple[Groups, tuple[HeldRows, ...]]:
    """Each op computes its rows once, when a later op needs them; what makes a tensor ``again`` computes the
    rows of each step that reads it. A group has a step of the last op or, if they are ``fine``, one of the
    first, so that what that reads comes in stripes as small as it can be. Raises ValueError where a tensor
    cannot be made again."""
    walk = _Pull(shape, heights, again)
    last = len(shape.ops) - 1
    groups: list[tuple[CascadeStep, ...]] = []
    while walk.done[last] < shape.op_rows(last):
        walk.advance(last, shape.op_rows(last))
        if walk.done[last] == shape.op_rows(last):
            # Rows that are made again begin a round for their reader, so that those of its own come first.
            for index in reversed(range(last)) if again else range(last):
                if walk.reached[index] < shape.op_rows(index):
                    walk.until(index, shape.op_rows(index))
        groups += _by_first(walk.steps) if fine else [tuple(walk.steps)]
        walk.count += len(walk.steps)
        walk.steps.clear()
        if walk.count > MAX_CASCADE_STEPS:
            raise ValueError(f"more than {MAX_CASCADE_STEPS:,} steps")
    groups = list(_by_first(groups[0])) if len(groups) == 1 else groups
    held = (
        HeldRows(
            name, walk.most[name] * program.tensors[name].bytes // shape.rows[name], True, again=name in again
        )
        for name in shape.inside
    )
    return tuple(groups), (*held, *_carried(shape, groups, True))


def _by_first(steps: Sequence[CascadeStep]) -> Iterator[tuple[CascadeStep, ...]]:
    """The steps up to one of the last op in a group for each step of the first op."""
    starts = [0, *(number for number, step in enumerate(steps) if number and step.op == 0), len(steps)]
    yield from (tuple(steps[start:stop]) for start, stop in pairwise(starts))


def _carried(
    shape: CascadeShape, groups: Sequence[tuple[CascadeStep, ...]], rolls: bool
) -> Iterator[HeldRows]:
    """The accumulators and states of ops that need several steps for all rows."""
    several = {s.op for group in groups for s in group if len(s.rows) < shape.ops[s.op].work.rows}
    for index in sorted(several):
        carried = shape.ops[index].carried
        if carried is not None:
            yield HeldRows(carried.name, carried.bytes, rolls)


class _Pull:
    """The order of steps in which each op computes ``heights`` rows when a later one needs more."""

    def __init__(self, shape: CascadeShape, heights: Sequence[int], again: Collection[str]) -> None:
        count = range(len(shape.ops))
        self.heights = [max(1, height) for height in heights]
        self.rows = [shape.op_rows(index) for index in count]
        self.work_rows = [shape.in_work(index, Interval(0, 1)).stop for index in count]
        """For each op, the rows of its work in a row of its outputs."""
        self.needs = [
            [
                (shape.maker[name], shape.reads(index, n))
                for n, name in enumerate(op.inputs)
                if name in shape.maker
            ]
            for index, op in enumerate(shape.ops)
        ]
        """For each op, which ops make what it reads, and the rows of it that it does."""
        self.rounds = dict(_only_reader(shape, name) for name in again)
        """For each op whose output is made again, the op that reads it, and the rows of it that it does."""
        self.done = [0] * len(shape.ops)
        self.ahead, self.reached = self.done.copy(), self.done.copy()
        """For each op, where the step ends that it is about to make, and the most rows ever done."""
        self.steps: list[CascadeStep] = []
        self.count = 0
        self.most = dict.fromkeys(shape.inside, 0)
        """For each tensor inside, the most rows that are in SharedMemory at once."""
        self.inside = [[name for name in op.outputs if name in self.most] for op in shape.ops]
        self.readers = {
            name: [(index, shape.reads(index, n)) for index, n in shape.readers.get(name, ())]
            for name in shape.inside
        }
        self.all_rows, self.maker = shape.rows, shape.maker

    def until(self, index: int, stop: int) -> None:
        most = stop if index in self.rounds else self.rows[index]
        while self.done[index] < stop:
            self.advance(index, most)

    def advance(self, index: int, most: int) -> None:
        """Compute the next rows of an op, up to row ``most``, after all that they need."""
        start = self.done[index]
        stop = self.ahead[index] = min(most, start + self.heights[index])
        for maker, reads in self.needs[index]:
            first, needed = reads(start, stop)
            if maker in self.rounds:
                self.done[maker] = self.ahead[maker] = min(self.reached[maker], first)
            self.until(maker, needed)
        each = self.work_rows[index]
        self.steps.append(CascadeStep(index, Interval(start * each, stop * each)))
        self.done[index], self.reached[index] = stop, max(self.reached[index], stop)
        for name in self.inside[index]:
            # Rows that nobody needs are written, too, and must not lie on each other.
            self.most[name] = max(self.most[name], stop - min(start, self._oldest(name)))

    def _oldest(self, name: str) -> int:
        """The first row of a tensor inside that a later step still reads."""
        oldest = self.all_rows[name]
        for index, reads in self.readers[name]:
            start = self.done[index]
            if self.maker[name] not in self.rounds:
                start = min(start, self._next_round(index))
            if start < self.rows[index]:
                oldest = min(oldest, reads(start, start + 1)[0])
        return oldest

    def _next_round(self, index: int) -> int:
        """The row to which an op goes back for the next step that reads it; its number of rows for none."""
        if index not in self.rounds:
            return self.rows[index]
        reader, reads = self.rounds[index]
        start = min(self.ahead[reader], self._next_round(reader))
        return reads(start, start + 1)[0] if start < self.rows[reader] else self.rows[index]


def _only_reader(shape: CascadeShape, name: str) -> tuple[int, tuple[int, RowReads]]:
    """The op that makes a tensor again, and the one that reads it. Raises ValueError for a tensor that others
    need, that is made together with others, added up, or made time step by time step."""
    readers = shape.readers.get(name, ())
    maker = shape.maker[name] if name in shape.inside else -1
    op = shape.ops[maker]
    if maker < 0 or len(readers) != 1 or len(op.outputs) != 1 or op.carried is not None:
        raise ValueError(f"the rows of {name!r} cannot be made again for the op that reads it")
    return maker, (readers[0][0], shape.reads(*readers[0]))


def alive_together(shape: CascadeShape, groups: Groups, again: Collection[str]) -> tuple[frozenset[str], ...]:
    """The sets of tensors made ``again`` that are in SharedMemory at once, without those within a larger one:
    each from the first step that makes its rows to the one that reads them."""
    alive, found = frozenset[str](), set[frozenset[str]]()
    for step in (step for group in groups for step in group):
        alive |= again_of(shape.ops[step.op].outputs, again)
        found.add(alive)
        alive -= again_of(shape.ops[step.op].inputs, again)
    return tuple(sorted((each for each in found if not any(each < other for other in found)), key=sorted))


def again_of(names: Sequence[str], again: Collection[str]) -> frozenset[str]:
    """Those of ``names`` that are made again."""
    return frozenset(name for name in names if name in again)


def recomputing(
    program: Program, shape: CascadeShape, heights: Sequence[int]
) -> tuple[Groups, tuple[HeldRows, ...]]:
    """For each stripe of the last op, every op computes all rows that the stripe needs."""
    last = len(shape.ops) - 1
    if any(shape.maker[name] != last for name in shape.outputs):
        raise ValueError("a tensor inside is needed elsewhere, and its rows are computed more than once")
    total, height = shape.op_rows(last), max(1, heights[last])
    most = dict.fromkeys(shape.inside, 0)
    done = [0] * len(shape.ops)
    groups: list[tuple[CascadeStep, ...]] = []
    for start in range(0, total, height):
        stripe = Interval(start, min(total, start + height))
        needed = _needed(shape, stripe, done)
        for op, rows, before in zip(shape.ops, needed, done, strict=True):
            if op.state and rows.start < before and len(rows):
                raise ValueError(f"{op.name!r} would compute time steps again")
        done = [max(before, rows.stop) for before, rows in zip(done, needed, strict=True)]
        for name in most:
            most[name] = max(most[name], len(needed[shape.maker[name]]))
        steps = (CascadeStep(i, shape.in_work(i, rows)) for i, rows in enumerate(needed) if len(rows))
        groups.append(tuple(steps))
    held = (
        HeldRows(name, most[name] * program.tensors[name].bytes // shape.rows[name], False)
        for name in shape.inside
    )
    return tuple(groups), (*held, *_carried(shape, groups, False))


def _needed(shape: CascadeShape, stripe: Interval, done: Sequence[int]) -> list[Interval]:
    """For each op, the rows that a stripe of the last one needs, and those not needed before."""
    last = len(shape.ops) - 1
    needed = [Interval(0, 0)] * last + [stripe]
    ends = stripe.stop == shape.op_rows(last)
    for index in range(last, -1, -1):
        if ends:
            needed[index] = hull((needed[index], Interval(done[index], shape.op_rows(index))))
        if not len(needed[index]):
            continue
        start = min(needed[index].start, done[index])
        needed[index] = Interval(start, needed[index].stop)
        for operand, name in enumerate(shape.ops[index].inputs):
            if name in shape.maker:
                maker = shape.maker[name]
                needed[maker] = hull((needed[maker], shape.read(index, operand, needed[index])))
    return needed


def rows_read(shape: CascadeShape, groups: Groups, name: str) -> RowsInTurn:
    """The rows of an input that each group of steps reads."""
    return RowsInTurn(shape.rows[name], tuple(_hull_read(shape, group, name) for group in groups))


def _hull_read(shape: CascadeShape, group: Sequence[CascadeStep], name: str) -> Interval:
    found = [
        shape.read(step.op, operand, _tensor_rows(shape, step))
        for step in group
        for index, operand in shape.readers[name]
        if index == step.op
    ]
    return hull(found)


def rows_made(shape: CascadeShape, groups: Groups, name: str) -> RowsInTurn:
    """The rows of an output that each group of steps makes."""
    maker = shape.maker[name]
    if shape.ops[maker].accumulator is not None:
        ends = shape.rows[name]
        last = (any(s.op == maker and s.rows.stop == ends for s in group) for group in groups)
        return RowsInTurn(1, tuple(Interval(0, int(each)) for each in last))
    made = (hull([_tensor_rows(shape, s) for s in group if s.op == maker]) for group in groups)
    return RowsInTurn(shape.rows[name], tuple(made))


def _tensor_rows(shape: CascadeShape, step: CascadeStep) -> Interval:
    each = shape.ops[step.op].work.rows // shape.op_rows(step.op)
    return Interval(step.rows.start // each, step.rows.stop // each)


def most_heights(shape: CascadeShape, groups: Groups) -> tuple[int, ...]:
    """For each op, the most rows that one of its steps computes."""
    most = [0] * len(shape.ops)
    for step in (step for group in groups for step in group):
        most[step.op] = max(most[step.op], len(_tensor_rows(shape, step)))
    return tuple(most)
