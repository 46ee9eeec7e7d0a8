"""The lower bound of cycles against plans of random programs on random chips, by several streamers.

For each seed one program, with or without in-place reuse, on one chip: any DMA and NPU model, one channel
or more, memories from tight to large. Each streamer plans it with a packer, and it runs along random paths.
No run may take fewer cycles than ``time_bound`` gives for its path. With ``--cascades`` it is the bound for
plans with cascades, which plans without them may not beat either. Proven bounds count, too.
With ``--listed`` it is the bound over the listed ways, the plan's own among them.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from chipmodel.bounds.columns import listed_bound, listed_instance
from chipmodel.bounds.program_windows import proven_cycles
from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip, Cpu, Dma, Psram, Route
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, ops
from chipmodel.model.time_bound import has_turns
from chipmodel.model.trace import Trace
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import CHOICES, reuse
from chipmodel.verify.proven_cycles import proof_faults
from dma.columns.plan_ways import plan_ways
from solvers.columns.cp_sat import least_chain
from solvers.core.deadline import NO_DEADLINE
from tests.fuzz.fuzzer import Check, Fault
from tests.fuzz.random_trees import random_paths
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program

COUNT = 1000
STREAMERS = ("sync", "ping-pong", "prefetch-greedy", "ping-pong-across", "resident-knapsack", "exact:20")
QUICK_STREAMERS = ("sync", "ping-pong", "prefetch-greedy", "resident-knapsack", "auto")
PACKERS = ("large-first", "short-first", "greedy-best-fit")
PATHS = 2
"""Paths simulated of each plan."""
ITERATIONS = (0, 1, 2, 3, 5, 7, 12)
"""Of loops: also more than those that stand for all in the bound (``chipmodel.model.short_path``)."""


@dataclass(frozen=True, slots=True)
class BoundedRun:
    """One plan's run along a path."""

    case: str
    streamer: str
    path: Mapping[str, str]
    cycles: int
    bound: int
    joint: bool
    """Whether the NPU and the DMA engine take turns in the bound."""

    @property
    def beaten(self) -> bool:
        return self.cycles < self.bound

    def __str__(self) -> str:
        return f"{self.case}, {self.streamer}, {dict(self.path)}: {self.cycles} cycles, bound {self.bound}"


def random_case(seed: int) -> tuple[Program, Chip]:
    """A program of small ops, and a chip on which it may fit."""
    random = Random(seed)
    shape = TreeShape(
        ops=random.choice((2, 3, 5)),
        depth=random.choice((0, 0, 1, 2)),
        side=random.choice((3, 5, 8)),
        channels=random.choice((4, 8, 16)),
    )
    program = reuse(random_program(seed, shape), random.choice(CHOICES))
    chip = tiny_chip(random)
    if random.random() < 0.6:
        chip = _balanced(random, chip, program)
    size = max(64, int(_largest(program) * random.choice((0.3, 0.5, 0.7, 0.9, 1.2, 2))))
    return program, replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))


def _largest(program: Program) -> int:
    """Bytes that the largest op needs."""
    every = (
        sum(program.tensors[n].bytes for n in {*op.inputs, *op.outputs}) + program.block_bytes(op)
        for op in ops(program.body)
    )
    return max(every, default=0)


def _balanced(random: Random, chip: Chip, program: Program) -> Chip:
    """The chip without contention, NPU and DMA engine equally busy, so that plans come near to the bound."""
    route = Route(random.choice((0, 0, 3, 20)), 8, Fraction(random.choice((0, 0, 8))))
    every = list(ops(program.body))
    computed = sum(op_cycles(chip.npu, op, op.work.rows, op.work.channels) for op in every)
    moved = sum(program.block_bytes(op) for op in every) + sum(t.bytes for t in program.tensors.values())
    return replace(
        chip,
        core_mhz=max(Fraction(1), Fraction(computed, max(1, moved)) * random.choice((1, 2, 4))),
        shared_memory=replace(chip.shared_memory, banks=None, alignment=random.choice((1, 4))),
        psram=Psram(1 << 20, Fraction(1), Fraction(random.choice((1, 2, 4)))),
        dma=Dma(route, route),
        cpu=Cpu(),
    )


def _simulated(
    seed: int, streamers: Sequence[str], cascade: str = CASCADE_OFF
) -> Iterator[tuple[str, Chip, Planned, Trace]]:
    """Each streamer's plan of one case that fits, simulated along some paths; ``auto`` with ``cascade``."""
    program, chip = random_case(seed)
    random = Random(seed)
    for streamer in streamers:
        own = cascade if streamer == "auto" else CASCADE_OFF
        try:
            planned = plan(PlanRequest(program, chip, random.choice(PACKERS), streamer, cascade=own))
        except DoesNotFit:
            continue
        if planned.solved.peak > chip.shared_memory.bytes:
            continue
        for choices in random_paths(program, planned, random, ITERATIONS)[:PATHS]:
            trace = simulate(planned.commands, chip, choices)
            yield streamer, chip, planned, trace
            if not trace.path:
                break


def random_runs(
    seed: int, streamers: Sequence[str] = STREAMERS, cascades: bool = False
) -> Iterator[BoundedRun]:
    """All streamers on one case."""
    bounds: dict[tuple[tuple[str, str], ...], tuple[int, bool]] = {}
    for streamer, chip, _, trace in _simulated(seed, streamers):
        key = tuple(sorted(trace.path.items()))
        if key not in bounds:
            bounds[key] = _bounds(random_case(seed)[0], chip, trace.path, cascades)
        yield BoundedRun(f"seed {seed}", streamer, trace.path, trace.cycles, *bounds[key])


def listed_runs(seed: int, streamers: Sequence[str] = QUICK_STREAMERS) -> Iterator[BoundedRun]:
    """All streamers on one case, each plan beside the bounds of the listed ways, which are its own, too; the
    default with cascades."""
    for streamer, chip, planned, trace in _simulated(seed, streamers, CASCADE_AUTO):
        cascades, ways = streamer == "auto", plan_ways(planned.schedule)
        asked = planned.program, chip, trace.path, cascades, ways
        found, made = listed_bound(*asked), listed_instance(*asked)
        if found is None or made is None:
            continue
        chain = least_chain(made.problem, made.columns, trace.cycles, NO_DEADLINE).answer
        both, joint = {"listed": found.cycles, "CP-SAT": chain.bound}, len(found.bindings) > 1
        for name, bound in both.items():
            yield BoundedRun(f"seed {seed}, {name}", streamer, trace.path, trace.cycles, bound, joint)


def _bounds(program: Program, chip: Chip, path: Mapping[str, str], cascades: bool) -> tuple[int, bool]:
    every = list(proven_cycles(program, chip, path))
    for proof in every:
        if faults := list(proof_faults(program, chip, proof)):
            raise Fault(faults[0])
    proofs = [each for each in every if has_turns(each.space) or not cascades]
    proven = max((each.cycles for each in proofs), default=0)
    found = time_bound(program, chip, path, cascades)
    return max(found.cycles, proven), len(found.bindings) > 1


def tally(runs: Iterator[BoundedRun]) -> Counter[str]:
    """Counts of runs; of those in whose bound both units take turns, and of those that take no longer.

    Raises Fault where a run takes fewer cycles than its bound."""
    seen: Counter[str] = Counter()
    for run in runs:
        if run.beaten:
            raise Fault(str(run))
        seen.update(runs=1, joint=run.joint, tight=run.cycles == run.bound)
    return seen


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument("--streamers", default=",".join(STREAMERS), help="NAME,... [six of them]")
    parser.add_argument("--cascades", action="store_true", help="the bound for plans with cascades")
    parser.add_argument("--listed", action="store_true", help="the bound over the listed ways")
    given = parser.parse_args(arguments)
    streamers = given.streamers.split(",")
    if given.listed:
        return lambda seed: tally(listed_runs(seed))
    return lambda seed: tally(random_runs(seed, streamers, given.cascades))
