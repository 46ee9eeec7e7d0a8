"""Plans of streamer ``exact``: what CP-SAT proves of the listed ways, and plans of the chains that it finds.

A chain is built, packed and simulated as the default's is. What it then takes longer than the model says is
what the model learns: where one of its ways follows the other again, the NPU takes as long, and ways of which
no plan could be packed do not come together again. So the next chain is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from time import perf_counter

from chipmodel.answers.result import ExactProof
from chipmodel.bounds.columns import FastestWays, listed_instance
from chipmodel.errors import TimeIsOver
from chipmodel.machine.simulate import simulate
from chipmodel.model.plan import Status
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.model.trace import Trace
from chipmodel.pipeline.by_ways import best_first, fastest_forms, ways_along
from chipmodel.pipeline.quickest import QuickestPlan, packed, packer_limits
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.columns.listed import ListedWays
from dma.columns.plan_ways import plan_ways
from dma.schedule.effort import SearchProgress, StopCriterion
from solvers.columns.cp_sat import ChainModel, WayChain, least_chain, ways_within
from solvers.columns.path import FastestPath, PathSearch
from solvers.fluid.borders import LEVELS
from solvers.fluid.problem import FluidProblem

PART = "the search for the fastest chain of ways"
PROOF_SHARE = 0.5
"""The share of the time that is left that the proof may take."""
MOST_WAYS = 1_000
"""Ways of which chains are made for plans, those of the fastest chains (assumed)."""


def plan_exactly(request: PlanRequest, path: Mapping[str, str], chains: int, default: Planned) -> Planned:
    """Return the best of the ``default`` plan and of those of so many ``chains`` of the listed ways, with
    what is proven of all of these ways."""
    search = _ExactSearch(request, path, default)
    for part in (partial(search.prove, default), partial(search.improve, chains)):
        try:
            part()
        except TimeIsOver:
            request.deadline.ended(PART)
    cycles, proof = default.trace.cycles if default.trace else None, search.proof
    found = search.tried.answer() or default
    return replace(found, default_cycles=cycles, proof=proof and replace(proof, tried=search.count))


class _ExactSearch:
    def __init__(self, request: PlanRequest, path: Mapping[str, str], default: Planned) -> None:
        self.request, self.path = request, path
        self.tried = QuickestPlan(request, path, default)
        self.proof: ExactProof | None = None
        self.count = 0
        self.model: ChainModel | None = None
        self.chain = WayChain(0, (), ())
        self.names: list[str] = []
        """The op of each run between two borders."""

    def prove(self, default: Planned) -> None:
        """Find the least cycles of the listed ways, with those of the default plan."""
        request, trace = self.request, default.trace
        if trace is None or request.program.inferences > 1:
            return
        asked = request.program, request.chip, trace.path, request.cascades, plan_ways(default.schedule)
        until, cycles = request.deadline.share(PROOF_SHARE), trace.cycles
        made = listed_instance(*asked, deadline=until)
        if made is None:
            return
        answer, listed, left = least_chain(made.problem, made.columns, cycles, until)
        if answer.bound <= cycles:  # Else the plan runs its ops in some way that is not listed.
            status: Status = "optimal" if answer.status == "optimal" else "feasible"
            self.proof = ExactProof(status, answer.bound, listed, left, 0)

    def improve(self, chains: int) -> None:
        """Make plans of chains until there is none that may be faster."""
        request = self.request
        stop = request.stop or StopCriterion(gap=0)
        stop = replace(stop, bound=self.proof.bound if self.proof else 0)
        size = request.chip.shared_memory.bytes
        for whole, _ in fastest_forms(request, self.path, [size]):
            for found in ways_along(request, whole, self.path, [size], propose=self.chains):
                if self.count >= chains or stop.enough(self.tried.cycles, perf_counter() - self.tried.began):
                    return
                self.count += 1
                self._build(whole, found)
                if stop.report:
                    stop.report(SearchProgress(self.count, chains, self.tried.cycles, stop.bound))

    def chains(self, problem: FluidProblem, columns: ListedWays) -> Iterator[FastestPath]:
        """Yield chains that may be faster than the best plan."""
        deadline, most = self.request.deadline, int(self.tried.cycles) - 1
        search = PathSearch(problem, columns, LEVELS)
        if search.run(deadline, most=most) > most:
            return
        ways = sorted(ways_within(search, most), key=lambda way: way.chain)[:MOST_WAYS]
        self.names, self.model = [op.name for op in columns.ops], ChainModel(search, ways)
        answer = self.model.least(deadline)
        while answer.chain and answer.chain.cycles < self.tried.cycles:
            self.chain = answer.chain
            taken = tuple(ways[number].way for number in self.chain.ways)
            yield FastestPath(self.chain.cycles, taken, search)
            answer = self.model.least(deadline, answer.bound)

    def _build(self, whole: Program, found: FastestWays) -> None:
        """Pack and simulate the first schedule of the chain that fits, and let the model learn from the last
        one that was tried."""
        assert self.model is not None
        self.model.forbidden.append(self.chain.ways)
        last = best_first(self.tried, iter([(whole, found)]))
        if last is None or not last.program.is_straight:
            return
        planned = self.tried.last
        if planned is None:
            naive = replace(self.request, packer="naive", streamer="auto")
            planned = packed(naive, last.schedule, packer_limits(naive, self.tried.began))
        elif planned.trace is None:
            self.model.forbidden.append(self._overfull(last.program, last.schedule, planned))
        trace = planned.trace or simulate(planned.commands, self.request.chip, self.path)
        self._learn(last.program, trace)

    def _numbers(self, program: Program) -> dict[str, int]:
        """The place in the chain of the way in which each op runs, by name."""
        assert self.model is not None
        ways = [self.model.ways[number] for number in self.chain.ways]
        of_run = {name: at for at, way in enumerate(ways) for name in self.names[way.start : way.stop]}
        return of_run | {op.name: of_run[op.cascade[0].name] for op in program.ops() if op.cascade}

    def _overfull(self, program: Program, schedule: Schedule, planned: Planned) -> tuple[int, ...]:
        """The ways that run while the first buffer is alive that lies beyond SharedMemory."""
        capacity, offsets = self.request.chip.shared_memory.bytes, planned.solved.plan.offsets
        beyond = (each for each in planned.problem.buffers if offsets[each.name] + each.bytes > capacity)
        alive = min((each.live for each in beyond), key=lambda live: live[0].start)
        numbers, ops = self._numbers(program), [step.op for step in steps(schedule.body)]
        places = {numbers[op] for part in alive for op in ops[part.start : part.stop]}
        return tuple(self.chain.ways[place] for place in sorted(places)) or self.chain.ways

    def _learn(self, program: Program, trace: Trace) -> None:
        """Have ways take no less where they follow one another as they did."""
        assert self.model is not None
        numbers, ends = self._numbers(program), [0] * len(self.chain.ways)
        for event in trace.of("npu"):
            if not event.cause:
                place = numbers[event.op]
                ends[place] = max(ends[place], event.stop)
        ends = [*accumulate(ends, max, initial=0)]
        modelled = zip(pairwise(ends), pairwise((0, *self.chain.ends)), strict=True)
        pairs = pairwise((-1, *self.chain.ways))
        for pair, ((begun, ended), (begins, end)) in zip(pairs, modelled, strict=True):
            if ended - begun > end - begins:
                self.model.delays[pair] = max(ended - begun, self.model.delays.get(pair, 0))
