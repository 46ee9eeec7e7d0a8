"""What stays in SharedMemory, decided for all ops at once, together with the loads of weights.

A mixed-integer program (``solvers.residency.milp``) decides where ``dma.residency.state_search`` searches
step by step: it counts what a tensor that leaves costs the weights, and what the DMA engine loads while the
NPU computes. Its answer is a state of two memory tiers, as the search's, and becomes segments in the same
way.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import Traffic
from chipmodel.npu.cycles import op_cycles
from chipmodel.rewrites.in_place import left_to_move
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.chip_tiers import PSRAM, SHARED, ChipTierProblem
from dma.residency.greedy import Reserve, Residency, decide
from dma.residency.joint_options import stripe_options
from dma.residency.storages import absorbed
from dma.residency.tier_segments import residency_of
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.residency.milp import solve_residency
from solvers.residency.problem import (
    InPlaceItems,
    Joined,
    ResidencyFound,
    ResidencyItem,
    ResidencyProblem,
    ResidencyStep,
)
from solvers.tiers.problem import TierState, TierStay

DMA_CYCLE_COST = 0.1
"""Cycles added to the objective for each DMA cycle, also for those that overlap with computing: the
question has no steps in time, so in the real schedule some of these overlap less."""
MAX_LOOPING_OPS = 160
"""Ops of a program with loops up to which the mixed-integer program is solved: repetition takes long."""
MAX_OPS = 400
"""Ops of a program without loops up to which the mixed-integer program is solved, otherwise the state search
decides, as the solver takes too long."""
MIN_RESIDENT_SHARE = 0.001
"""Share of an op's weights: less than this is rounding, and nothing stays."""
BUILD_SECONDS_PER_OP = 0.04
"""Seconds to list how an op may be cut, which cannot be interrupted; measured: 10 s for DenseNet-121's 246 on
``luna-csk6``. Where a deadline leaves less for all ops, the state search decides."""
LEFT_OUT = "the joint decision of what stays in SharedMemory"
"""What a deadline leaves out or cuts short, in the words of the answer."""
SOLVER_SHARE = 0.25
"""Share of the time left that one mixed-integer program may take, as several may follow one another."""


def decide_jointly(
    program: Program,
    chip: Chip,
    budget: int,
    reserve: Reserve,
    spill: bool = True,
    deadline: Deadline = NO_DEADLINE,
) -> Residency:
    """Decide what stays in SharedMemory by the mixed-integer program, or by the state search where that
    finds nothing until the ``deadline``. Raises DoesNotFit, naming the op, where ``budget`` bytes are not
    enough."""
    if not spill:
        return decide(program, budget, reserve, spill=False)
    tiers = ChipTierProblem(program, chip, budget, reserve)
    count = len(tiers.table.ops)
    too_large = count > (MAX_LOOPING_OPS if tiers.table.scopes.loops else MAX_OPS)
    if too_large or not deadline.allows(count * BUILD_SECONDS_PER_OP, LEFT_OUT):
        return residency_of(tiers, tiers.found(deadline).state)
    question = JointQuestion(tiers).problem()
    until = deadline.share(SOLVER_SHARE)
    found = solve_residency(question, DMA_CYCLE_COST, until)
    deadline.ends(LEFT_OUT)
    if found.cycles is None:
        return residency_of(tiers, tiers.found(deadline).state)
    tiers.fetches = False
    tiers.absorbed = {
        tiers.names[part]: tiers.names[join.whole]
        for join, made in zip(question.joins, found.joined, strict=True)
        if made
        for part in join.parts
    }
    return replace(residency_of(tiers, _state(tiers, found)), staying=_staying(tiers, question, found))


def _staying(tiers: ChipTierProblem, question: ResidencyProblem, found: ResidencyFound) -> dict[str, float]:
    """The share of each op's weights that stays for its loop, if any does."""
    ops = tiers.table.ops
    pairs = zip(question.items, found.staying, strict=True)
    return {
        ops[item.touches[0]].name: share for item, share in pairs if item.loop and share > MIN_RESIDENT_SHARE
    }


class JointQuestion:
    """The question for the mixed-integer program: the tier problem's blocks as items, and the weights."""

    def __init__(self, tiers: ChipTierProblem) -> None:
        self.tiers = tiers
        self.steps = tiers.problem.steps

    def problem(self) -> ResidencyProblem:
        tiers = self.tiers
        tensors = tuple(self._tensor(index) for index in range(len(tiers.names)))
        weights = tuple(self._weights())
        overlays = tuple(
            InPlaceItems(block.start, block.overwrites, index)
            for index, block in enumerate(tiers.problem.blocks)
            if block.overwrites
        )
        npu = tiers.chip.npu
        steps = (
            ResidencyStep(op_cycles(npu, op, op.work.rows, op.work.channels), step.times)
            for op, step in zip(tiers.table.ops, self.steps, strict=True)
        )
        items = (*tensors, *weights)
        options = tuple(stripe_options(tiers, items))
        joins = tuple(self._joins())
        return ResidencyProblem(tuple(steps), items, tiers.budget, overlays, options, joins)

    def _joins(self) -> Iterator[Joined]:
        """Concats of which all inputs that may be made in the output are made once and used last there."""
        tiers = self.tiers
        places = absorbed(tiers.program, tiers.overwrites)
        for step, op in enumerate(tiers.table.ops):
            names = [n for n in op.absorbs if places.get(n) == op.outputs[0]]
            parts = [tiers.index[name] for name in names]
            whole = op.outputs[0]
            if not parts or not tiers.mobile(whole) or not all(self._may_join(i, step) for i in parts):
                continue
            left = left_to_move(tiers.program, op, frozenset(names))
            cycles = op_cycles(tiers.chip.npu, op, op.work.rows, op.work.channels)
            rest = 0 if left is None else op_cycles(tiers.chip.npu, left, left.work.rows, left.work.channels)
            yield Joined(step, tuple(parts), tiers.index[whole], cycles - rest)

    def _may_join(self, index: int, step: int) -> bool:
        tiers = self.tiers
        name, block = tiers.names[index], tiers.problem.blocks[index]
        alone = not block.overwrites and not tiers.table.ops[block.start].absorbs
        return alone and tiers.mobile(name) and touches_of(tiers, index)[-1] == step

    def _tensor(self, index: int) -> ResidencyItem:
        tiers = self.tiers
        block = tiers.problem.blocks[index]
        touches = touches_of(tiers, index)
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
            Fraction(transfer_cycles(tiers.chip, "store", block.bytes)) if block.bytes else Fraction(0),
            block.ends is not None,
            moves=block.swaps,
            pinned=pinned,
            since=self._since(touches[0]),
        )

    def _weights(self) -> list[ResidencyItem]:
        result: list[ResidencyItem] = []
        for position, op in enumerate(self.tiers.table.ops):
            size = self.tiers.program.block_bytes(op)
            if size:
                least = min(size, self.tiers.reserve(op))
                item = ResidencyItem(
                    op.name, size, (position,), (self._load(size, "weights"),), (size,), (least,), False
                )
                loop = None if op.gathers else self._loop(position)
                result.append(item._replace(whole=False, since=self._since(position), loop=loop))
        return result

    def _since(self, position: int) -> int:
        """The first op of the straight chain."""
        stretch = self.tiers.table.scopes.region
        return stretch.index(stretch[position])

    def _loop(self, position: int) -> tuple[int, int] | None:
        """The outermost loop around ``position``, if an op precedes it."""
        around = [loop for loop in self.tiers.table.scopes.loops if position in loop]
        return (around[-1].start, around[-1].stop) if around and around[-1].start else None

    def _load(self, size: int, traffic: Traffic = "load") -> Fraction:
        return Fraction(transfer_cycles(self.tiers.chip, traffic, size)) if size else Fraction(0)


def touches_of(tiers: ChipTierProblem, index: int) -> list[int]:
    """Return the ops that touch a block, in order."""
    return sorted({touch.position for touch in tiers.table.touches[tiers.names[index]]})


def _state(tiers: ChipTierProblem, found: ResidencyFound) -> TierState:
    stays = tuple(tuple(_stays(tiers, found, index)) for index in range(len(tiers.names)))
    under: list[int | None] = []
    for block, own in zip(tiers.problem.blocks, stays, strict=True):
        old = block.overwrites[0] if block.overwrites else None
        in_place = old is not None and own[0].tier == SHARED and stays[old][-1].tier == SHARED
        under.append(old if in_place and not _cut(tiers, stays, block.start) else None)
    assert found.cycles is not None
    return TierState(Fraction(found.cycles), stays, tuple(under))


def _cut(tiers: ChipTierProblem, stays: Sequence[Sequence[TierStay]], step: int) -> bool:
    """Whether a tensor passes through an op in stripes: then it may not overwrite what later stripes read."""
    blocks = [task.block for task in tiers.problem.steps[step].tasks]
    return any(stay.tier == PSRAM for b in blocks for stay in stays[b] if stay.start <= step < stay.stop)


def _stays(tiers: ChipTierProblem, found: ResidencyFound, index: int) -> list[TierStay]:
    """The times of block ``index`` in either memory. Offsets are the packer's: here all are 0."""
    block = tiers.problem.blocks[index]
    touches = touches_of(tiers, index)
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
    """``stays`` with successive ones in the same memory as one."""
    result: list[TierStay] = []
    for stay in stays:
        if result and result[-1].tier == stay.tier:
            result[-1] = TierStay(stay.tier, 0, result[-1].start, stay.stop)
        else:
            result.append(stay)
    return result
