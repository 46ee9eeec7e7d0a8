"""Best, worst and expected cycles over the paths through a plan: exact if that is feasible, else sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Protocol

from chipmodel.answers.result import Result
from chipmodel.bounds.listed import higher_bound
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.chances import Chances, chances_of
from chipmodel.model.commands import Branch, Command, Plain, Repeat, resolve_path
from chipmodel.model.path_costs import MAX_COUNT, MIN_SAMPLES, Extreme, PartCost, Paths, Sample
from chipmodel.model.time_bound import TimeBound, has_turns
from chipmodel.passes.lower import lower
from chipmodel.paths.decisions import Decision, Decisions, by_name, concatenate
from chipmodel.paths.exact import AnalysisBudget, AnalysisTooCostly, ExactAnalysis, PartKey, PartTotals
from chipmodel.paths.sample import PathSampler, SampleStatistics, draw
from chipmodel.paths.tree import (
    CommandBlock,
    CommandSegment,
    PathNode,
    WeightedBranch,
    WeightedLoop,
    count_paths,
    weighted_tree,
)
from chipmodel.records import dataclass
from dma.stream import streamer_named


@dataclass(frozen=True, slots=True)
class PathEffort:
    """Limits of the work for an answer; none is a time, so the answer is the same on every machine."""

    samples: int | None = None
    """Paths to sample where the exact analysis is too costly, at least ``MIN_SAMPLES``; None for as many as
    ``passes`` allow, up to ``DEFAULT_SAMPLES``."""
    seed: int = 0
    passes: int = 50_000
    """Passes of the simulator, with commands and ``FORK_PASSES`` for each segment: for the exact analysis,
    and as many again for a sample after it (assumed: a few seconds)."""
    joins: int = 30_000
    """Paths from state to state that the exact analysis may join (assumed)."""


DEFAULT_SAMPLES = 1000
"""Paths in a sample whose size the user does not choose (assumed)."""


def with_paths(
    result: Result, choices: Mapping[str, str] | None = None, effort: PathEffort = PathEffort()
) -> Result:
    """``result`` with the costs of all paths through its plan; ``choices`` fix decisions."""
    commands = [core.commands for core in result.cores] or [lower(result.schedule, result.solved.plan)]
    paths = analyse_paths(commands, result.chip, chances_of(result.program), choices, effort)
    if paths is None or paths.worst.choices is None:
        return replace(result, paths=paths)
    everything = tuple(command for core in commands for command in core)
    path = resolve_path(everything, paths.worst.choices)
    bound = _bound(result, path, paths.worst.cycles)
    refuse_beaten(bound, result.chip, paths.worst.cycles)
    return replace(result, paths=replace(paths, worst=replace(paths.worst, lower_bound=bound.cycles)))


def _bound(result: Result, path: Mapping[str, str], cycles: int) -> TimeBound:
    """The least cycles along a path: known for the simulated one; streamers that search have more bounds."""
    asked, program = result.asked, result.program
    quick = asked is not None and not streamer_named(asked.streamer).searches_offsets
    if quick and path == result.trace.path and not result.cores:
        return result.bound
    bound = time_bound(program, result.chip, path, cascades=has_turns(result.bound.space))
    return higher_bound(result, bound, path, cycles) if result.bound.ways else bound


def analyse_paths(
    cores: Sequence[tuple[Command, ...]],
    chip: Chip,
    chances: Chances,
    choices: Mapping[str, str] | None = None,
    effort: PathEffort = PathEffort(),
) -> Paths | None:
    """The costs of the paths through the commands of each of the ``cores``; ``choices`` fix decisions.

    None without an ``if`` or ``loop``. Raises BadInput for choices that do not exist.
    """
    everything = tuple(command for commands in cores for command in commands)
    path = resolve_path(everything, choices or {})
    fixed = {name: path[name] for name in choices or {}}
    if not any(isinstance(command, Branch | Repeat) for command in everything):
        return None
    trees = [weighted_tree(commands, chances, fixed) for commands in cores]
    count = 1
    for tree in trees:
        count = min(MAX_COUNT, count * count_paths(tree))
    try:
        return _exact(trees, chip, count, effort)
    except AnalysisTooCostly:
        return _sampled(trees, chip, count, effort)


def _exact(trees: Sequence[CommandBlock], chip: Chip, count: int, effort: PathEffort) -> Paths:
    if len(trees) > 1:
        found = enumerate_paths(trees, chip)
        return Paths(_extreme(found.least), _extreme(found.most), found.mean, count, ())
    paths = ExactAnalysis(chip, AnalysisBudget(effort.passes, effort.joins)).all_paths(trees[0])
    (end,) = paths.ends.values()
    return Paths(
        best=_extreme((end.least, end.quickest)),
        worst=_extreme((end.most, end.slowest)),
        expected=end.cycles,
        count=count,
        parts=tuple(_part_costs(trees[0], paths.parts, Fraction(1))),
    )


class _Sampler(Protocol):
    """Draws paths one after another."""

    statistics: SampleStatistics
    work: int

    def sample(self) -> None: ...


def _sampled(trees: Sequence[CommandBlock], chip: Chip, count: int, effort: PathEffort) -> Paths:
    several = len(trees) > 1
    sampler: _Sampler = (
        CorePathSampler(trees, chip, effort.seed) if several else PathSampler(trees[0], chip, effort.seed)
    )
    statistics = sampler.statistics
    wanted = DEFAULT_SAMPLES if effort.samples is None else effort.samples
    while statistics.size < max(wanted, MIN_SAMPLES):
        sampler.sample()
        if effort.samples is None and statistics.size >= MIN_SAMPLES and sampler.work >= effort.passes:
            break
    assert statistics.least
    assert statistics.most
    scale = Fraction(1, statistics.size)
    return Paths(
        best=_extreme(statistics.least),
        worst=_extreme(statistics.most),
        expected=statistics.mean,
        count=count,
        parts=() if several else tuple(_part_costs(trees[0], statistics.parts, scale)),
        sample=Sample(statistics.size, effort.seed, *statistics.interval()),
    )


def _extreme(path: tuple[int, Decisions]) -> Extreme:
    return Extreme(path[0], by_name(path[1]))


def _part_costs(block: CommandBlock, totals: Mapping[PartKey, PartTotals], scale: Fraction) -> list[PartCost]:
    """The costs of each arm and loop body in ``block``; ``scale`` turns ``totals`` into means."""
    costs: list[PartCost] = []
    for node in block.nodes:
        match node:
            case WeightedBranch():
                for arm in node.arms:
                    costs.append(_part_cost((node.name, arm.name), arm.probability, totals, scale))
                    costs += _part_costs(arm.body, totals, scale)
            case WeightedLoop():
                costs.append(_part_cost((node.name, None), Fraction(1), totals, scale))
                costs += _part_costs(node.body, totals, scale)
            case _:
                pass
    return costs


def _part_cost(
    key: PartKey, probability: Fraction, totals: Mapping[PartKey, PartTotals], scale: Fraction
) -> PartCost:
    known = totals.get(key)
    if known is None:
        return PartCost(*key, probability, Fraction(0), Fraction(0), None, None)
    return PartCost(*key, probability, known.runs * scale, known.cycles * scale, known.least, known.most)


MAX_ENUMERATED_PATHS = 64
"""Paths up to which each is simulated (assumed: as long as a small sample takes)."""


@dataclass(frozen=True, slots=True)
class CorePath:
    """A path of one core: its commands in order, its decisions, and its probability."""

    commands: tuple[Plain, ...] = ()
    decisions: Decisions = None
    probability: Fraction = Fraction(1)

    def followed_by(self, later: CorePath) -> CorePath:
        return CorePath(
            self.commands + later.commands,
            concatenate(self.decisions, later.decisions),
            self.probability * later.probability,
        )


@dataclass(frozen=True, slots=True)
class EnumeratedPaths:
    """Quickest and slowest of all paths with their cycles, and the mean of the cycles."""

    least: tuple[int, Decisions]
    most: tuple[int, Decisions]
    mean: Fraction


def enumerate_paths(trees: Sequence[CommandBlock], chip: Chip) -> EnumeratedPaths:
    """Simulate every path. Raises AnalysisTooCostly where there are more than ``MAX_ENUMERATED_PATHS``."""
    count = 1
    for tree in trees:
        count *= count_paths(tree)
    if count > MAX_ENUMERATED_PATHS:
        raise AnalysisTooCostly
    runs = [_simulated(paths, chip) for paths in product(*([*_block_paths(tree)] for tree in trees))]
    mean = sum((probability * cycles for cycles, _, probability in runs), Fraction(0))
    least, most = min(runs, key=lambda run: run[0]), max(runs, key=lambda run: run[0])
    return EnumeratedPaths(least[:2], most[:2], mean)


class CorePathSampler:
    """Draws paths of all cores, the same ones for the same ``seed``.

    An ``if`` or ``loop`` runs on one core, so a path of the program is one path of each core. All cores run
    at the same time, so each path is simulated from its start to its end.
    """

    def __init__(self, trees: Sequence[CommandBlock], chip: Chip, seed: int) -> None:
        self.trees = trees
        self.chip = chip
        self.random = Random(seed)
        self.statistics = SampleStatistics()
        self.work = 0
        """Commands simulated so far."""

    def sample(self) -> None:
        """Draw one path of each core and add them to ``statistics``."""
        paths = tuple(_draw_path(tree, self.random) for tree in self.trees)
        self.work += sum(len(path.commands) for path in paths)
        cycles, decisions, _ = _simulated(paths, self.chip)
        self.statistics.add(cycles, decisions)


def _simulated(paths: tuple[CorePath, ...], chip: Chip) -> tuple[int, Decisions, Fraction]:
    """Cycles, decisions and probability of one path of each core."""
    decisions: Decisions = None
    probability = Fraction(1)
    for path in paths:
        decisions, probability = concatenate(decisions, path.decisions), probability * path.probability
    return simulate_cores([path.commands for path in paths], chip).cycles, decisions, probability


def _block_paths(block: CommandBlock) -> Iterator[CorePath]:
    paths = [CorePath()]
    for node in block.nodes:
        paths = [path.followed_by(later) for path in paths for later in _node_paths(node)]
    yield from paths


def _node_paths(node: PathNode) -> Iterator[CorePath]:
    match node:
        case CommandSegment():
            yield CorePath(node.commands)
        case WeightedBranch():
            for arm in node.arms:
                before = CorePath((), Decision(node.name, arm.name), arm.probability)
                yield from (before.followed_by(path) for path in _block_paths(arm.body))
        case WeightedLoop():
            for iterations, chance in node.chances:
                before = CorePath((), Decision(node.name, str(iterations)), chance)
                unrolled = CommandBlock(node.body.nodes * iterations)
                yield from (before.followed_by(path) for path in _block_paths(unrolled))


def _draw_path(block: CommandBlock, random: Random) -> CorePath:
    """A path at random; its ``probability`` is not set."""
    commands: list[Plain] = []
    decisions: Decisions = None
    left = [*reversed(block.nodes)]
    while left:
        node = left.pop()
        if isinstance(node, CommandSegment):
            commands += node.commands
            continue
        _, decision, body, times = draw(node, random)
        decisions = concatenate(decisions, decision)
        left += [*reversed(body.nodes)] * times
    return CorePath(tuple(commands), decisions)
