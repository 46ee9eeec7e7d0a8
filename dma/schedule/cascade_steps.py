"""The steps of a cascade: its ops in stripes, one after another, with the rows of the tensors inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from chipmodel.cascades.columns import part_reads, part_writes, with_columns
from chipmodel.errors import DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.cascade_work import Band, CascadeStep, CascadeWork, HeldRows
from chipmodel.model.program import NO_SHARE, Op
from chipmodel.model.schedule import CascadePlan, Operand, Part, Phase, Step
from chipmodel.npu.cycles import op_cycles, op_phases
from dma.residency.tiling import Tiling
from dma.schedule.lanes import Lane, Lanes
from dma.schedule.operands import OperandMaker


def cascade_plan(op: Op, tiling: Tiling, steps: Interval) -> CascadePlan:
    """What a schedule says of the cascade ``op``, whose steps are ``steps``."""
    work = _work(op)
    return CascadePlan(
        op.name,
        tuple(inner.name for inner in op.cascade),
        all(held.rolls for held in work.held),
        tuple(op.cascade[index].name for index in work.reloaded),
        work.bands,
        tuple(held.tensor for held in work.held if held.again),
        steps=steps,
        heights=work.heights,
        inside=tuple(held.tensor for held in work.held),
        groups=min(tiling.rows, op.work.rows) if tiling.striped else 1,
    )


def cascade_steps(
    maker: OperandMaker, op: Op, tiling: Tiling, position: int, lanes: Lanes
) -> Iterator[tuple[Step, str]]:
    """Yield every step of the cascade ``op``, number ``position`` of the program, and the name of its own op.

    Raises DoesNotFit where a tensor that a later op of the cascade reads would have to be in Psram.
    """
    emission = _CascadeEmission(maker, op, position, lanes)
    for groups, _ in tiling.tiles(op):
        for number in range(groups.start, groups.stop):
            group = Group(number, _work(op).groups[number])
            for step in group.steps:
                yield emission.step(step, groups, group)


def _work(op: Op) -> CascadeWork:
    assert isinstance(op.work, CascadeWork)
    return op.work


class Group(NamedTuple):
    """A group of steps up to one of the last op, and its number in the cascade."""

    number: int
    steps: tuple[CascadeStep, ...]

    def first_of(self, index: int) -> CascadeStep | None:
        """The first step of an op; None for none."""
        for step in self.steps:
            if step.op == index:
                return step
        return None


@dataclass
class _CascadeEmission:
    maker: OperandMaker
    op: Op
    position: int
    lanes: Lanes
    held: dict[str, HeldRows] = field(init=False)
    turns: dict[str, list[int]] = field(init=False)
    channels: list[Interval] = field(init=False)
    maker_of: dict[str, int] = field(init=False)
    """The op that makes each tensor inside."""
    seen: Counter[int] = field(default_factory=Counter[int])
    stays: list[Lane] = field(init=False)
    """The buffer of the weights of each op that stay."""
    in_turn: Lane = field(init=False)
    """The buffer of weights that do not stay."""

    def __post_init__(self) -> None:
        work = _work(self.op)
        self.cost = cache(self._cost)
        self.held = {held.tensor: held for held in work.held}
        self.turns = {held.tensor: [held.bytes_in(n) for n in range(work.bands)] for held in work.held}
        """The bytes that are used of the buffer of each tensor inside, by band."""
        self.channels = [Interval(0, inner.work.channels) for inner in self.op.cascade]
        self.maker_of = {name: i for i, inner in enumerate(self.op.cascade) for name in inner.outputs}
        self.total = Counter(step.op for step in work.steps)
        self.first = self.maker.next_step
        self.last = self.first + self.total.total() - 1
        for held in work.held:
            self.maker.buffer(self.rows_buffer(held.tensor), held.bytes, "rows")
        self.stays = [Lane(f"{self.op.name} weights of {inner.name}", 1) for inner in self.op.cascade]
        self.in_turn = Lane(f"{self.op.name} weights loaded again", 1)
        if work.reload_bytes:
            self.maker.buffer(self.in_turn.name, work.reload_bytes, "weights")

    def rows_buffer(self, tensor: str) -> str:
        return f"{self.op.name}.rows.{tensor}"

    def step(self, step: CascadeStep, groups: Interval, group: Group) -> tuple[Step, str]:
        inner, channels = self.op.cascade[step.op], self.channels[step.op]
        reads = self.reads(inner, step, groups, group)
        reads += self.weights(step.op, inner)
        writes = [self.write(inner, name, step, group) for name in inner.made(step.rows)]
        here = self.maker.next_step
        self.maker.next_step += 1
        self.seen[step.op] += 1
        many = self.total[step.op]
        label = inner.name if many == 1 else f"{inner.name} [{self.seen[step.op]}/{many}]"
        cycles, phases = self.cost(step.op, len(step.rows), step.band)
        made = Step(
            *(here, self.op.name, step.rows, channels, cycles, tuple(reads), tuple(writes), label, phases),
            step.columns,
        )
        return made, inner.name

    def _cost(self, index: int, rows: int, band: Band | None) -> tuple[int, tuple[Phase, ...]]:
        inner, npu = self.op.cascade[index], self.maker.chip.npu
        size = rows, inner.work.channels, band
        return op_cycles(npu, inner, *size), op_phases(npu, inner, *size)

    def reads(self, inner: Op, step: CascadeStep, groups: Interval, group: Group) -> list[Operand]:
        """The operands of a step, without weights."""
        found, channels = list[Operand](), self.channels[step.op]
        for operand in range(len(inner.inputs)):
            share = part_reads(self.maker.program, inner, operand, step.rows, channels, step.columns)
            if share != NO_SHARE:
                found.append(self.read(inner, operand, share, groups, group))
        sums = inner.continued(step.rows)
        return found if sums is None else [*found, self.held_part(Part(sums.name), group)]

    def read(self, inner: Op, operand: int, share: Share, groups: Interval, group: Group) -> Operand:
        """The operand of a ``share`` of one of an op's inputs."""
        name = inner.inputs[operand]
        if name in self.held:
            return self.rows(name, share, group)
        resident = self.maker.resident(name, self.position)
        if resident:
            return self.maker.placed(Part(name), resident, self.maker.touched(name, share))
        if name not in self.op.inputs:
            raise DoesNotFit(f"{name!r} is read again inside of {self.op.name!r}, and would be in Psram")
        index = self.op.inputs.index(name)
        if lane := self.lanes.rolling.get(index):
            rows = Part(name, Share(share.rows, share.of_rows) if share.banded else share)
            return self.maker.rolling_stripe(self.op, rows, lane, groups)
        part = Part(name, self.op.reads(index, groups, Interval(0, 1)))
        stripe = self.maker.stripe(self.op, "load", part, self.lanes.reads[index])
        return replace(stripe, touched=self.rows_within(name, share, part.share))

    def write(self, inner: Op, name: str, step: CascadeStep, group: Group) -> Operand:
        channels = self.channels[step.op]
        share = part_writes(self.maker.program, inner, name, step.rows, channels, step.columns)
        if name in self.held:
            return self.held_part(Part(name, share), group)
        resident = self.maker.resident(name, self.position)
        if resident:
            return self.maker.placed(Part(name, share), resident, self.maker.touched(name, share))
        return self.maker.stripe(self.op, "store", Part(name, share), self.lanes.writes[name])

    def rows(self, name: str, share: Share, group: Group) -> Operand:
        """Rows of a tensor inside: those of a rolling buffer, or all that this group has made."""
        if self.held[name].rolls:
            return self.rolling(name, share, group)
        index = self.maker_of[name]
        inner, made = self.op.cascade[index], group.first_of(index)
        assert made is not None, f"a group reads rows of {name!r}, and computes none of them"
        made_share = part_writes(
            self.maker.program, inner, name, made.rows, self.channels[index], made.columns
        )
        touched = self.rows_within(name, share, made_share)
        return Operand(Part(name, made_share), self.rows_buffer(name), touched)

    def rows_within(self, name: str, share: Share, held: Share) -> Interval:
        """The bytes of the rows of ``share`` in a buffer that begins with ``held`` and has its columns."""
        size = held.band_bytes(self.maker.program.tensors[name].bytes)
        first = size * held.rows.start // held.of_rows
        start = size * share.rows.start // share.of_rows
        return Interval(start - first, -(-size * share.rows.stop // share.of_rows) - first)

    def held_part(self, part: Part, group: Group) -> Operand:
        """A part of what is held inside, in its place in a rolling buffer or from the first byte on."""
        if self.held[part.name].rolls:
            return self.rolling(part.name, part.share, group)
        size = part.share.bytes(self.maker.program.tensors[part.name].bytes)
        return Operand(part, self.rows_buffer(part.name), Interval(0, size))

    def rolling(self, name: str, share: Share, group: Group) -> Operand:
        """The bytes of the rows of ``share`` where they lie in the rolling buffer, in all columns that it
        has: all of it where they pass its end."""
        held, band = self.held[name], _work(self.op).band_of(group.number)
        if held.columns:
            in_ring = with_columns(self.maker.program, name, share, held.columns[band])
            share = in_ring if share.banded or in_ring.banded else share
        size, turn = share.band_bytes(self.maker.program.tensors[name].bytes), self.turns[name][band]
        start = size * share.rows.start // share.of_rows
        stop = -(-size * share.rows.stop // share.of_rows)
        touched = Interval(0, turn)
        if stop - start <= turn - start % turn:
            touched = Interval(start % turn, start % turn + stop - start)
        narrower = None if turn == held.bytes else turn
        return Operand(Part(name, share), self.rows_buffer(name), touched, bytes=narrower, rolls=True)

    def weights(self, index: int, inner: Op) -> list[Operand]:
        """The op's own weights, which stay until its last step, or are loaded again for every turn."""
        if index in _work(self.op).reloaded:
            return self.maker.reloaded_weights(self.op, inner, self.in_turn)
        return self.maker.weights(inner, Interval(0, inner.work.channels), self.stays[index], self.op)
