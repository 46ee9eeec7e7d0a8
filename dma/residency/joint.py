"""What stays in SharedMemory, decided for all ops at once with the weights that are loaded meanwhile.

``solvers.residency.milp`` chooses, where ``dma.residency.state_search`` searches step by step: it sees what a
tensor that leaves costs the weights, and what the engine brings while the NPU computes. Its answer is a state
of S1's two tiers, so the way from there to segments is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.passes.in_place import left_to_move
from dma.residency.greedy import Reserve, Residency, absorbed, decide
from dma.residency.joint_options import menu
from dma.residency.state_search import PSRAM, Asked
from dma.residency.tier_segments import SHARED
from dma.timing.transfer import transfer_cycles
from solvers.residency.milp import HORIZON, solve_residency
from solvers.residency.problem import (
    InPlaceItems,
    Joined,
    ResidencyFound,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)
from solvers.tiers.problem import TierState, TierStay

THRIFT = 0.1
"""What is hidden behind compute as if time had no steps may show: less of it is better."""
LONG = 160
"""A program of more ops is looked at in less detail; with loops as well, S1's search decides: what each
iteration repeats takes the solver too long."""
NEAR = 16
"""Its loads come so many ops early at most, in detail."""
MOST_OPS = 400
"""Of a longer program S1's search decides."""
LEAST_SHARE = 0.001
"""Less of an op's weights than this is none."""
NODES = 500
"""Nodes of branch and bound: well under a second."""


def decide_jointly(
    program: Program, chip: Chip, budget: int, reserve: Reserve, spill: bool = True
) -> Residency:
    """As ``dma.residency.state_search.decide_tiers``, but for what the search that decides about all steps at
    once leaves in SharedMemory; S1's where that finds nothing. Raises DoesNotFit, naming the op, where
    ``budget`` bytes are not enough."""
    if not spill:
        return decide(program, budget, reserve, spill=False)
    asked = Asked(program, chip, budget, reserve)
    count = len(asked.table.ops)
    if count > (LONG if asked.table.scopes.loops else MOST_OPS):
        return asked.residency(asked.found().state)
    question = _Question(asked).problem()
    horizon = HORIZON if count <= LONG else NEAR
    found = solve_residency(question, NODES, dma_weight=THRIFT, horizon=horizon)
    if found.cycles is None:
        return asked.residency(asked.found().state)
    asked.fetches = False
    asked.absorbed = {
        asked.names[part]: asked.names[join.whole]
        for join, made in zip(question.joins, found.joined, strict=True)
        if made
        for part in join.parts
    }
    return replace(asked.residency(_state(asked, found)), staying=_staying(asked, question, found))


def _staying(asked: Asked, question: ResidencyProblem, found: ResidencyFound) -> dict[str, float]:
    """The share of each op's weights that stays for its loop, where that is any."""
    ops = asked.table.ops
    pairs = zip(question.items, found.staying, strict=True)
    return {ops[item.touches[0]].name: share for item, share in pairs if item.loop and share > LEAST_SHARE}


class _Question:
    """The blocks of the tier problem as items, one touch for each op that touches them; and the weights."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.steps = asked.problem.steps

    def problem(self) -> ResidencyProblem:
        asked = self.asked
        tensors = tuple(self._tensor(index) for index in range(len(asked.names)))
        weights = tuple(self._weights())
        overlays = tuple(
            InPlaceItems(block.start, block.overwrites, index)
            for index, block in enumerate(asked.problem.blocks)
            if block.overwrites
        )
        npu = asked.chip.npu
        steps = (
            ResidencyStep(op_cycles(npu, op, op.work.rows, op.work.channels), step.times)
            for op, step in zip(asked.table.ops, self.steps, strict=True)
        )
        items = (*tensors, *weights)
        options = tuple(menu(asked, items))
        joins = tuple(self._joins())
        return ResidencyProblem(tuple(steps), items, asked.budget, overlays, options, joins)

    def _joins(self) -> Iterator[Joined]:
        """Concats all of whose inputs that may be made in the output die there, and are made once."""
        asked = self.asked
        places = absorbed(asked.program, asked.overwrites)
        for step, op in enumerate(asked.table.ops):
            names = [n for n in op.absorbs if places.get(n) == op.outputs[0]]
            parts = [asked.index[name] for name in names]
            whole = op.outputs[0]
            if not parts or not asked.mobile(whole) or not all(self._may_join(i, step) for i in parts):
                continue
            left = left_to_move(asked.program, op, frozenset(names))
            cycles = op_cycles(asked.chip.npu, op, op.work.rows, op.work.channels)
            rest = 0 if left is None else op_cycles(asked.chip.npu, left, left.work.rows, left.work.channels)
            yield Joined(step, tuple(parts), asked.index[whole], cycles - rest)

    def _may_join(self, index: int, step: int) -> bool:
        asked = self.asked
        name, block = asked.names[index], asked.problem.blocks[index]
        alone = not block.overwrites and not asked.table.ops[block.start].absorbs
        return alone and asked.mobile(name) and touches_of(asked, index)[-1] == step

    def _tensor(self, index: int) -> ResidencyItem:
        asked = self.asked
        block = asked.problem.blocks[index]
        touches = touches_of(asked, index)
        tasks = [{t.block: t for t in self.steps[step].tasks}.get(index) for step in touches]
        reads = [0 if t is None else block.bytes if t.moved is None else t.moved for t in tasks]
        made = block.home is None
        pinned = None if block.pinned is None else block.pinned == SHARED
        return ResidencyItem(
            block.name,
            block.bytes,
            tuple(touches),
            tuple(self._load(size) if j or not made else Fraction(0) for j, size in enumerate(reads)),
            tuple(reads),
            tuple(0 if t is None else t.staged for t in tasks),
            made,
            Fraction(transfer_cycles(asked.chip, "store", block.bytes)) if block.bytes else Fraction(0),
            block.ends is not None,
            moves=block.swaps,
            pinned=pinned,
            since=self._since(touches[0]),
        )

    def _weights(self) -> list[ResidencyItem]:
        result: list[ResidencyItem] = []
        for position, op in enumerate(self.asked.table.ops):
            size = self.asked.program.block_bytes(op)
            if size:
                least = min(size, self.asked.reserve(op))
                item = ResidencyItem(
                    op.name, size, (position,), (self._load(size),), (size,), (least,), False
                )
                loop = None if op.gathers else self._loop(position)
                result.append(item._replace(whole=False, since=self._since(position), loop=loop))
        return result

    def _since(self, position: int) -> int:
        """The first op of the straight stretch."""
        stretch = self.asked.table.scopes.stretch
        return stretch.index(stretch[position])

    def _loop(self, position: int) -> tuple[int, int] | None:
        """The outermost loop, if something comes before it."""
        around = [loop for loop in self.asked.table.scopes.loops if position in loop]
        return (around[-1].start, around[-1].stop) if around and around[-1].start else None

    def _load(self, size: int) -> Fraction:
        return Fraction(transfer_cycles(self.asked.chip, "load", size)) if size else Fraction(0)


def touches_of(asked: Asked, index: int) -> list[int]:
    """The ops that touch a block, in order."""
    return sorted({touch.position for touch in asked.table.touches[asked.names[index]]})


def _state(asked: Asked, found: ResidencyFound) -> TierState:
    stays = tuple(tuple(_stays(asked, found, index)) for index in range(len(asked.names)))
    under: list[int | None] = []
    for block, own in zip(asked.problem.blocks, stays, strict=True):
        old = block.overwrites[0] if block.overwrites else None
        in_place = old is not None and own[0].tier == SHARED and stays[old][-1].tier == SHARED
        under.append(old if in_place and not _cut(asked, stays, block.start) else None)
    assert found.cycles is not None
    return TierState(Fraction(found.cycles), stays, tuple(under))


def _cut(asked: Asked, stays: Sequence[Sequence[TierStay]], step: int) -> bool:
    """Whether something passes through an op in stripes: then it may not overwrite what later ones read."""
    blocks = [task.block for task in asked.problem.steps[step].tasks]
    return any(stay.tier == PSRAM for b in blocks for stay in stays[b] if stay.start <= step < stay.stop)


def _stays(asked: Asked, found: ResidencyFound, index: int) -> list[TierStay]:
    """Offsets are the packer's: here all are 0."""
    block = asked.problem.blocks[index]
    touches = touches_of(asked, index)
    stays: list[TierStay] = []
    at = block.start
    for j, step in enumerate(touches):
        tier = SHARED if found.there[index][j] else PSRAM
        if j and not found.kept[index][j] and stays:
            stays.append(TierStay(PSRAM, 0, at, step))
            at = step
        stop = step + 1
        if j + 1 == len(touches):
            stop = block.stop
        stays.append(TierStay(tier, 0, at, stop))
        at = stop
    return [stay for stay in _joined(stays) if stay.start < stay.stop]


def _joined(stays: list[TierStay]) -> list[TierStay]:
    """Stays in one memory, one behind the other, as one, but where the block left in between."""
    result: list[TierStay] = []
    for stay in stays:
        if result and result[-1].tier == stay.tier:
            result[-1] = TierStay(stay.tier, 0, result[-1].start, stay.stop)
        else:
            result.append(stay)
    return result
