"""The tiered-memory patent as it is written: any number of memories, and what its search saves on a network.

A tier is NAME,BYTES,LATENCY,BANDWIDTH[,LATENCY,BANDWIDTH]: core cycles, and bytes a core cycle, out of the
tier and into it (alike where only one pair is given), from fast to slow; only the last one may have no BYTES.
Its costs are the source's: latency + bytes / bandwidth, for each access of an op as for each transfer out of
a tier and into one. Inputs and outputs of the network belong in the last tier, and an op reaches its tensors
in any tier. --pin NAME=TIER keeps a tensor in one tier. --constants makes weights blocks too, alive from the
start to the op that reads them; their first load is not counted, as in the source. An op's scratch takes
bytes of the first tier while it runs.

The state is then replayed on memories of bytes that know their block: every transfer copies its bytes in an
order in which its place is free, every access finds the bytes of its block, and the cycles of all of it must
be those that the search reports. ``chipmodel simulate --packer state-search`` runs it on the memories of a
chip, with stripes, weights and transfers that pass while ops compute.

    python -m bench.memory_tiers zoo:mobilenetv1_025 --tier sram,32KiB,1,8 --tier second,32KiB,8,4 \\
        --tier psram,,60,1 [--settings segment=3,actions=move+swap+reuse] [--json FILE]

Source: the tiered-memory patent (CN, 2022), docs/references.md.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_bytes
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program
from dma.residency.chip_tiers import PSRAM, ChipTierProblem
from dma.residency.state_search import state_search
from docs.tools.markdown import table
from reports.run.states import search_document
from solvers.core.conflicts import Ints
from solvers.tiers.actions import ActionRule
from solvers.tiers.problem import Cost, Tier, TierAccess, TierBlock, TierProblem, TierState
from solvers.tiers.search import TierSearchResult, search
from solvers.tiers.settings import TierSettings, tier_settings
from workloads.load import load

TIERS = ("sram,32KiB,1,8", "second,32KiB,8,4", "psram,,60,1")
SETTINGS = "segment=3,actions=move+swap+reuse"


def tier(text: str) -> Tier:
    """Read a tier as a user writes it. Raises BadInput."""
    try:
        name, size, latency, bandwidth, *into = text.split(",")
        out = affine(latency, bandwidth)
        enter = affine(*into) if into else out
        return Tier(name, parse_bytes(size) if size else None, out, enter, out, enter)
    except (TypeError, ValueError, ZeroDivisionError) as reason:
        raise BadInput(f"{text!r} is no tier", hint="as in sram,32KiB,1,8 or sram,32KiB,1,8,2,4") from reason


def affine(latency: str, bandwidth: str) -> Cost:
    """The source's cost of an access: ``latency + bytes / bandwidth``."""
    cycles, rate = int(latency), Fraction(bandwidth)
    if cycles < 0 or rate <= 0:
        raise ValueError(latency, bandwidth)
    return lambda size: cycles + size / rate


def pinned(problem: TierProblem, pins: Sequence[str]) -> TierProblem:
    """``problem`` with the blocks that ``pins`` name as NAME=TIER in that tier alone. Raises BadInput."""
    blocks, tiers = {b.name: b for b in problem.blocks}, [each.name for each in problem.tiers]
    for name, _, where in (pin.rpartition("=") for pin in pins):
        if name not in blocks or where not in tiers:
            raise BadInput(f"--pin {name}={where} names no block and tier", hint=f"a tier of {tiers}")
        blocks[name] = replace(blocks[name], pinned=tiers.index(where))
    return replace(problem, blocks=tuple(blocks.values()))


def with_constants(problem: TierProblem, program: Program) -> TierProblem:
    """``problem`` with the weights of each op as a block, which no one has to load before the first step."""
    blocks, steps = list(problem.blocks), list(problem.steps)
    for at, op in enumerate(program.ops()):
        size = sum(program.weights[name].bytes for name in op.constants)
        if size:
            steps[at] = replace(steps[at], tasks=(*steps[at].tasks, TierAccess(len(blocks), False)))
            blocks.append(TierBlock(f"{op.name} weights", size, 0, at + 1))
    return replace(problem, blocks=tuple(blocks), steps=tuple(steps))


def scratch_bytes(op: Op) -> int:
    """Bytes of the first tier that an op takes for itself while it runs."""
    return op.scratch.bytes if op.scratch else 0


def tier_problem(program: Program, tiers: Sequence[Tier]) -> TierProblem:
    """The tensors of a program as blocks, with the lifetimes and what may be overwritten as on a chip. Raises
    BadInput for a program with branches or loops, which the source does not have."""
    if not all(isinstance(node, Op) for node in program.body):
        raise BadInput(f"{program.name} has branches or loops", hint="zoo:hardnet has none")
    ample = sum(tensor.bytes for tensor in program.tensors.values())
    asked = ChipTierProblem(program, load_chip("luna-arcs"), ample, scratch_bytes).problem

    def remote(block: TierBlock) -> TierBlock:
        home, ends, pinned = (
            len(tiers) - 1 if at == PSRAM else at for at in (block.home, block.ends, block.pinned)
        )
        return replace(block, home=home, ends=ends, pinned=pinned)

    steps = (
        replace(step, tasks=tuple(replace(task, staged=0) for task in step.tasks), cuts=False)
        for step in asked.steps
    )
    return TierProblem(tuple(tiers), tuple(map(remote, asked.blocks)), tuple(steps))


Location = tuple[int, int]
"""A tier, and the first byte of a block there."""
OUTSIDE = -1
"""In place of that byte: before a block's life, and after it."""


@dataclass
class Replay:
    """Memories whose bytes know the block that wrote them; ``moved`` counts transfers and their bytes by
    tiers. A last tier without a capacity has bytes of its own for every block; what is brought from or to
    tiers with one before and after a block's life is outside of their bytes."""

    problem: TierProblem
    state: TierState
    cycles: Fraction = Fraction(0)
    memories: list[Ints] = field(init=False)
    """The block that each byte of a tier is of, or -1; of all tiers with a capacity."""
    in_last: set[int] = field(default_factory=set[int])
    """The blocks whose bytes are in the last tier, also as a copy of what lies in another."""
    moved: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def __post_init__(self) -> None:
        self.memories = [np.full(tier.capacity or 0, -1, dtype=np.int64) for tier in self.problem.tiers]

    def run(self) -> Replay:
        """Replay all steps. Raises AssertionError where a block's bytes are not where the state has it."""
        for at, step in enumerate(self.problem.steps):
            for index in self._in_order(at):
                self._arrive(index, at)
            born = {index for index, block in enumerate(self.problem.blocks) if block.start == at}
            for task in sorted(step.tasks, key=lambda task: (task.writes, task.block in born)):
                where = self._at(task.block, at)
                size = self.problem.blocks[task.block].bytes if task.moved is None else task.moved
                if task.writes:
                    self.in_last.discard(task.block)
                    self._write(task.block, where)
                self._check(task.block, where)
                memory = self.problem.tiers[where[0]]
                self.cycles += Fraction(memory.write(size) if task.writes else memory.read(size))
            for index, block in enumerate(self.problem.blocks):
                if block.stop == at + 1 and block.ends is not None and block.ends != self._at(index, at)[0]:
                    self._transfer(index, self._at(index, at), (block.ends, OUTSIDE))
        return self

    @property
    def _last(self) -> int:
        return len(self.problem.tiers) - (self.problem.tiers[-1].capacity is None)

    def _at(self, index: int, step: int) -> Location:
        stay = next(s for s in self.state.stays[index] if s.start <= step < s.stop)
        return stay.tier, stay.offset

    def _before(self, index: int, step: int) -> Location | None:
        """Where a block that arrives at a step comes from; None where it is written there first."""
        block = self.problem.blocks[index]
        if step > block.start:
            return self._at(index, step - 1)
        return None if block.home is None else (block.home, OUTSIDE)

    def _in_order(self, step: int) -> Iterator[int]:
        """The blocks that arrive at a step, each when no block that has to leave first lies in its place."""
        coming = [i for i, stays in enumerate(self.state.stays) for s in stays if s.start == step]
        while coming:
            free = [i for i in coming if not any(self._blocks(i, other, step) for other in coming)]
            assert free, f"no order of transfers at step {step}"
            yield free[0]
            coming.remove(free[0])

    def _blocks(self, index: int, other: int, step: int) -> bool:
        """Whether ``other`` has not left the place that block ``index`` comes to."""
        place, held = self._at(index, step), self._before(other, step)
        if index == other or held is None or held[0] != place[0] or OUTSIDE in held or held[0] == self._last:
            return False
        size = self.problem.blocks[index].bytes, self.problem.blocks[other].bytes
        return place[1] < held[1] + size[1] and held[1] < place[1] + size[0]

    def _arrive(self, index: int, step: int) -> None:
        origin, place = self._before(index, step), self._at(index, step)
        block = self.problem.blocks[index]
        written = any(task.writes and task.block == index for task in self.problem.steps[step].tasks)
        if origin is not None and step == block.start:
            self._write(index, origin)
        if origin is None or (step == block.start and origin[0] == place[0]):
            if not written:  # Constants are there from the beginning.
                self._write(index, place)
        elif origin != place:
            self._transfer(index, origin, place)

    def _transfer(self, index: int, origin: Location, place: Location) -> None:
        """Copy a block's bytes; they may be there already, in the last tier."""
        self._check(index, origin)
        if origin == place or (place[0] == self._last and index in self.in_last):
            return
        self._write(index, place)
        size, tiers = self.problem.blocks[index].bytes, self.problem.tiers
        self.cycles += Fraction(tiers[origin[0]].leave(size) + tiers[place[0]].enter(size))
        pair = tiers[origin[0]].name, tiers[place[0]].name
        self.moved[pair] += 1
        self.bytes[pair] += size

    def _write(self, index: int, place: Location) -> None:
        tier, low = place
        if tier == self._last:
            self.in_last.add(index)
        if tier == self._last or low == OUTSIDE:
            return
        high = low + self.problem.blocks[index].bytes
        assert 0 <= low <= high <= len(self.memories[tier])
        self.memories[tier][low:high] = index

    def _check(self, index: int, place: Location) -> None:
        tier, low = place
        block = self.problem.blocks[index]
        if tier == self._last:
            assert index in self.in_last, f"{block.name} is lost"
        elif low != OUTSIDE:
            assert (self.memories[tier][low : low + block.bytes] == index).all(), f"{block.name} is lost"


def searched(problem: TierProblem, settings: TierSettings) -> TierSearchResult:
    """The state search with a user's settings; segments of one step where these name none. Raises BadInput
    for a cost in bytes: tiers have their own."""
    if settings.cost != "cycles":
        raise BadInput(f"tiers have no cost in {settings.cost}", hint="leave it out")
    return search(problem, None, settings.segment or 1, ActionRule(settings.changes, settings.actions))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("network", help="a workload without branches or loops, such as zoo:hardnet")
    parser.add_argument("--tier", action="append", help=f"from fast to slow {list(TIERS)}")
    parser.add_argument("--pin", action="append", default=[], help="NAME=TIER: a tensor that stays there")
    parser.add_argument("--constants", action="store_true", help="weights are blocks too")
    parser.add_argument("--json", help="a file for the states step by step")
    parser.add_argument("--settings", default=SETTINGS, help=f"of the state search [{SETTINGS}]")
    asked = parser.parse_args(argv)
    program = load(asked.network)
    problem = tier_problem(program, [tier(text) for text in asked.tier or TIERS])
    problem = pinned(with_constants(problem, program) if asked.constants else problem, asked.pin)
    settings = tier_settings("state-search", asked.settings)["settings"]
    assert isinstance(settings, TierSettings)
    found = searched(problem, settings)
    before, after = found.initial, found.state
    if asked.json:
        document = search_document(state_search(problem, found, settings.cost))
        Path(asked.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    rows: list[list[str]] = []
    for name, state in (("initial rule", before), (asked.settings, after)):
        replay = Replay(problem, state).run()
        assert replay.cycles == state.cycles
        pairs = (f"{a} to {b}: {n} of {replay.bytes[a, b]:,} B" for (a, b), n in replay.moved.items())
        change = f"{float(100 * (state.cycles / before.cycles - 1)):+.2f} %"
        rows.append([name, f"{float(state.cycles):,.2f}", change, "; ".join(pairs) or "none"])
    print(table(("state", ">cycles", ">change", "transfers"), rows))


if __name__ == "__main__":
    main()
