"""Best, worst and expected cycles over the paths through a plan: exact if that is feasible, else sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from operator import itemgetter
from random import Random

from chipmodel.answers.result import Result
from chipmodel.bounds.listed import higher_bound
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.model.chances import Chances, chances_of
from chipmodel.model.commands import Branch, Command, Repeat, resolve_path
from chipmodel.model.path_costs import MAX_COUNT, MIN_SAMPLES, Extreme, PartCost, Paths, Sample
from chipmodel.model.time_bound import TimeBound, has_turns
from chipmodel.passes.lower import lower
from chipmodel.paths.decisions import Decisions, by_name
from chipmodel.paths.exact import AnalysisBudget, AnalysisTooCostly, ExactAnalysis, PartTotals
from chipmodel.paths.sample import all_paths, drawn_path, interval, simulated
from chipmodel.paths.tree import CommandBlock, CommandSegment, PartKey, count_paths, weighted_tree
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
    """Passes of the simulator, with commands and ``FORK_PASSES`` for each segment, for the exact analysis,
    and as many commands again for a sample after it (assumed: a few seconds)."""
    joins: int = 30_000
    """Paths from state to state that the exact analysis may join (assumed)."""


DEFAULT_SAMPLES = 1000
"""Paths in a sample whose size the user does not choose (assumed)."""
MAX_ENUMERATED_PATHS = 64
"""Paths of several cores up to which each is simulated (assumed: as long as a small sample takes)."""


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
        return _enumerated(trees, chip, count)
    paths = ExactAnalysis(chip, AnalysisBudget(effort.passes, effort.joins)).all_paths(trees[0])
    (end,) = paths.ends.values()
    return Paths(
        best=_extreme((end.least, end.quickest)),
        worst=_extreme((end.most, end.slowest)),
        expected=end.cycles,
        count=count,
        parts=tuple(_part_costs(trees[0], paths.parts)),
    )


def _enumerated(trees: Sequence[CommandBlock], chip: Chip, count: int) -> Paths:
    """Simulate every path. Raises AnalysisTooCostly where there are more than ``MAX_ENUMERATED_PATHS``."""
    if count > MAX_ENUMERATED_PATHS:
        raise AnalysisTooCostly
    runs = [simulated(paths, chip) for paths in product(*map(all_paths, trees))]
    mean = sum((probability * cycles for cycles, _, probability in runs), Fraction(0))
    least, most = min(runs, key=lambda run: run[0]), max(runs, key=lambda run: run[0])
    return Paths(_extreme(least[:2]), _extreme(most[:2]), mean, count, ())


def _sampled(trees: Sequence[CommandBlock], chip: Chip, count: int, effort: PathEffort) -> Paths:
    random, found, work = Random(effort.seed), list[int](), 0
    least: tuple[int, Decisions] | None = None
    most: tuple[int, Decisions] | None = None
    wanted = DEFAULT_SAMPLES if effort.samples is None else effort.samples
    while len(found) < max(wanted, MIN_SAMPLES):
        paths = [drawn_path(tree, random) for tree in trees]
        run = simulated(paths, chip)[:2]
        found.append(run[0])
        least, most = min(least or run, run, key=itemgetter(0)), max(most or run, run, key=itemgetter(0))
        work += sum(len(path.commands) for path in paths)
        if effort.samples is None and len(found) >= MIN_SAMPLES and work >= effort.passes:
            break
    assert least
    assert most
    return Paths(
        best=_extreme(least),
        worst=_extreme(most),
        expected=Fraction(sum(found), len(found)),
        count=count,
        parts=(),
        sample=Sample(len(found), effort.seed, *interval(found)),
    )


def _extreme(path: tuple[int, Decisions]) -> Extreme:
    return Extreme(path[0], by_name(path[1]))


def _part_costs(block: CommandBlock, totals: Mapping[PartKey, PartTotals]) -> Iterator[PartCost]:
    """The costs of each arm and loop body in ``block``."""
    for node in block.nodes:
        if isinstance(node, CommandSegment):
            continue
        for option in node.options[: 1 if node.repeats else None]:  # those of a loop have one body
            key = node.part(option)
            known = totals.get(key)
            probability = Fraction(1) if node.repeats else option.probability
            if known is None:
                yield PartCost(*key, probability, Fraction(0), Fraction(0), None, None)
            else:
                yield PartCost(*key, probability, known.runs, known.cycles, known.least, known.most)
            yield from _part_costs(option.body, totals)
