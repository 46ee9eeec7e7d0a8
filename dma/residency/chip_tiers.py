"""A program on a chip as a problem of memory tiers: SharedMemory and Psram, and further ones between them.

A tensor is a block. An op's access to SharedMemory costs its bytes through the NPU's port; to Psram it costs
that and a transfer. A tensor in Psram passes through the op in stripes, for which the op needs the smallest
stripe of it in SharedMemory (``TierAccess.staged``); where there is room for all of its tensors in Psram,
they are loaded whole instead, which moves as many bytes. Bytes that the streamer reserves for weights are not
available to blocks.

A tensor that is touched in several straight chains, decides a branch, is defined more than once, or is read
or written slice by slice, stays in one memory for its whole life."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from chipmodel.geometry.interval import Interval, hull, merged
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.fit import OFF_CHIP_ALIGNMENT
from chipmodel.model.identity import Same
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import SHARED as SHARED_MEMORY, Hop, Traffic
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.greedy import Reserve, ResidencyTable
from dma.residency.tiling import least_stripe
from solvers.tiers.actions import ActionRule
from solvers.tiers.problem import Tier, TierAccess, TierBlock, TierProblem, TierStep
from solvers.tiers.search import TierSearchResult, default_limits, search
from solvers.tiers.settings import STANDARD, TierCost, TierSettings

SHARED = 0
"""The tier of SharedMemory, by index."""
PSRAM = 1
"""The tier of Psram, by index, where there is none between the two."""
SEGMENT_LENGTHS = (1, 2)
"""Steps that the search decides together, both tried: longer segments see further, but keep fewer states."""


class ChipTierProblem:
    """The tier problem of a program on a chip, and the residency of its states."""

    def __init__(
        self,
        program: Program,
        chip: Chip,
        budget: int,
        reserve: Reserve,
        settings: TierSettings = STANDARD,
    ) -> None:
        self.program, self.chip, self.budget, self.reserve = program, chip, budget, reserve
        self.settings = settings
        self.memories = _quickest_first(chip)
        self.psram = PSRAM + len(self.memories)
        """The tier of Psram, by index."""
        self.table = ResidencyTable(program)
        state = self.table.initial_decisions()
        self.overwrites = dict(state.overwrites)
        state.overwrites.clear()
        state.absorbed.clear()
        self.apart = self.table.residency(state)
        """Everything in SharedMemory that may be, each tensor in its own memory."""
        self.homed = self._always_in_psram(state.homed)
        self.names = [n for n in program.tensors if self.table.touches[n]]
        self.index = {name: index for index, name in enumerate(self.names)}
        self.problem = self._problem()

    def found(self) -> TierSearchResult:
        """The cheapest state found with any of ``SEGMENT_LENGTHS``, or with the one that the settings give,
        each within the search's default limit."""
        limits = default_limits(self.problem)
        segments = SEGMENT_LENGTHS if self.settings.segment is None else (self.settings.segment,)
        rule = ActionRule(self.settings.changes, self.settings.actions)
        found = (_searched(self.problem, limits, segment, rule) for segment in segments)
        return min(found, key=lambda f: f.state.cycles)

    # -- program to blocks ---------------------------------------------------------------------

    def _always_in_psram(self, homed: set[str]) -> set[str]:
        """``homed``, and inputs of several straight chains that no op on every path could load before."""
        touches = self.table.touches
        late = {
            name
            for name in self.program.inputs
            if touches[name]
            and not self.table.straight(touches[name])
            and self.table.early(touches[name]) is None
        }
        return homed | late

    def _problem(self) -> TierProblem:
        blocks = [self._block(name) for name in self.names]
        lives = {b.name: (b.start, b.stop) for b in blocks}
        for new, old in self.overwrites.items():
            if self._may_overwrite(new, old) and lives[old][1] == lives[new][0] + 1:
                at = self.index[new]
                blocks[at] = replace(blocks[at], overwrites=(self.index[old],))
        iterations = [times for _, times in self.program.op_counts()]
        steps = [self._step(op, times) for op, times in zip(self.table.ops, iterations, strict=True)]
        tiers = _tiers(Same(self.chip), self.budget, self.settings.cost, self.memories)
        return TierProblem(tiers, tuple(blocks), tuple(steps))

    def _may_overwrite(self, new: str, old: str) -> bool:
        """Whether ``new`` may take the memory of ``old``: not if only one of them may change its memory."""
        if new not in self.index or old not in self.index or {new, old} & self.homed:
            return False
        alone = all(len(self.table.ops[t.position].outputs) == 1 for t in self.table.touches[new] if t.writes)
        return alone and self.mobile(new) == self.mobile(old)

    def _block(self, name: str) -> TierBlock:
        positions = [t.position for t in self.table.touches[name]]
        live = Interval(min(positions), max(positions) + 1)
        spans: tuple[Interval, ...] = (live,)
        if name not in self.homed:
            segments = self.apart.segments[name]
            alive = [i for s in segments for i in self.table.live(s)]
            live = hull((live, *alive))
            spans = (
                (live,) if self.mobile(name) else merged((*alive, *(Interval(p, p + 1) for p in positions)))
            )
        return TierBlock(
            name,
            self.program.tensors[name].bytes,
            live.start,
            live.stop,
            pinned=self.psram if name in self.homed else None,
            home=self.psram if name in self.program.inputs else None,
            ends=self.psram if name in self.program.outputs else None,
            swaps=self.mobile(name),
            holes=tuple((a.stop, b.start) for a, b in pairwise(spans)),
        )

    def mobile(self, name: str) -> bool:
        """Whether a tensor may leave SharedMemory, or come to it, between two of its touches."""
        table, touches = self.table, self.table.touches[name]
        defined = sum(t.writes for t in touches) + (name in self.program.inputs)
        sliced = name in table.slicers or any(table.ops[t.position].allocates for t in touches if t.writes)
        return table.straight(touches) and defined == 1 and name not in table.conditions and not sliced

    def _step(self, op: Op, times: int) -> TierStep:
        tasks: list[TierAccess] = []
        for name in () if op.allocates else dict.fromkeys((*op.inputs, *op.outputs)):
            others = frozenset((*op.inputs, *op.outputs)) - {name}
            size = self.program.tensors[name].bytes
            moved = size // op.slices if name == op.sliced else size
            staged = least_stripe(self.program, op, others)
            tasks.append(TierAccess(self.index[name], name in op.outputs, staged, moved))
        return TierStep(tuple(tasks), times, self.reserve(op), op.name, cuts=True)


def _quickest_first(chip: Chip) -> tuple[FurtherMemory, ...]:
    """The further memories by the cycles that a byte takes into them and out again."""
    return tuple(
        sorted(chip.memories, key=lambda each: 1 / each.load_bytes_per_cycle + 1 / each.store_bytes_per_cycle)
    )


_searched = lru_cache(maxsize=8)(search)
"""Kept, as several weight floors and sets of cascades ask for the same search."""


@lru_cache(maxsize=8)
def _tiers(
    same_chip: Same[Chip], budget: int, cost: TierCost, memories: tuple[FurtherMemory, ...] = ()
) -> tuple[Tier, ...]:
    """SharedMemory, ``memories`` and Psram, with the cycles of the chip; for the cost ``bytes`` each byte
    that a transfer moves costs one, and the NPU's ports nothing. Kept, so that equal problems have the same
    functions of cycles."""
    chip = same_chip.value
    npu = chip.npu if cost == "cycles" else None

    def read(size: int) -> Fraction:
        return size / npu.read_bytes_per_cycle if npu else Fraction(0)

    def write(size: int) -> Fraction:
        return size / npu.write_bytes_per_cycle if npu else Fraction(0)

    def off_chip(name: str, capacity: int | None, load: Traffic, store: Traffic, alignment: int = 1) -> Tier:
        def leave(size: int) -> int:
            return transfer_cycles(chip, load, size) if npu else size

        def enter(size: int) -> int:
            return transfer_cycles(chip, store, size) if npu else size

        return Tier(
            name,
            capacity,
            read=lambda size: leave(size) + read(size),
            write=lambda size: enter(size) + write(size),
            leave=leave,
            enter=enter,
            alignment=alignment,
        )

    shared = Tier(
        "SharedMemory",
        budget,
        read=read,
        write=write,
        leave=lambda _: 0,
        enter=lambda _: 0,
        alignment=chip.shared_memory.alignment,
        copies=False,
    )
    further = (
        off_chip(m.name, m.bytes, Hop(m.name, SHARED_MEMORY), Hop(SHARED_MEMORY, m.name), OFF_CHIP_ALIGNMENT)
        for m in memories
    )
    return shared, *further, off_chip("Psram", None, "load", "store")
