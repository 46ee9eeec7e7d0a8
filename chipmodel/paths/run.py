"""The paths through a planned program: exactly where the machine's states permit, else by a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from chipmodel.bounds.time_bound import lower_bound_cycles
from chipmodel.chip.chip import Chip
from chipmodel.model.chances import Chances, chances_of
from chipmodel.model.commands import Branch, Command, Repeat, resolve_path
from chipmodel.model.path_costs import MAX_COUNT, Extreme, PartCost, Paths, Sample
from chipmodel.model.result import Result
from chipmodel.passes.lower import lower
from chipmodel.paths.cores import CoreSampler, each_path
from chipmodel.paths.exact import Budget, PartKey, Spent, TooManyStates, Walker
from chipmodel.paths.sample import LEAST_SAMPLES, Sampler, Seen
from chipmodel.paths.taken import Taken, decisions
from chipmodel.paths.tree import Block, Choice, Iterations, count_paths, weighed


@dataclass(frozen=True, slots=True)
class Effort:
    """What may be done for an answer. All limits count work, none is a time: the answer is the same every
    time and on every machine."""

    samples: int | None = None
    """Paths to sample where an exact answer is out of reach, at least ``LEAST_SAMPLES``; None for as many as
    ``passes`` allow, up to ``MOST_SAMPLES``."""
    seed: int = 0
    passes: int = 50_000
    """Of the simulator, and its commands and ``FORK`` for each stretch with them: for the exact answer, and
    for a sample after it."""
    joins: int = 30_000
    """Ways from state to state that the exact answer may join."""


MOST_SAMPLES = 1000
"""Paths in a sample whose size nobody chose."""


def with_paths(result: Result, choices: Mapping[str, str] | None = None, effort: Effort = Effort()) -> Result:
    """``result`` with what all paths through its plan cost, of which ``choices`` fix decisions."""
    commands = [core.commands for core in result.cores] or [lower(result.schedule, result.solved.plan)]
    paths = weigh_paths(commands, result.chip, chances_of(result.program), choices, effort)
    if paths is None or paths.worst.choices is None:
        return replace(result, paths=paths)
    everything = tuple(command for core in commands for command in core)
    bound = lower_bound_cycles(result.program, result.chip, resolve_path(everything, paths.worst.choices))
    return replace(result, paths=replace(paths, worst=replace(paths.worst, lower_bound=bound)))


def weigh_paths(
    cores: Sequence[tuple[Command, ...]],
    chip: Chip,
    chances: Chances,
    choices: Mapping[str, str] | None = None,
    effort: Effort = Effort(),
) -> Paths | None:
    """What the paths through the commands of each of the ``cores`` cost, of which ``choices`` fix decisions;
    None without an ``if`` or ``loop``. Raises BadInput for choices that are not there to be made."""
    everything = tuple(command for commands in cores for command in commands)
    path = resolve_path(everything, choices or {})
    fixed = {name: path[name] for name in choices or {}}
    if not any(isinstance(command, Branch | Repeat) for command in everything):
        return None
    trees = [weighed(commands, chances, fixed) for commands in cores]
    count = 1
    for tree in trees:
        count = min(MAX_COUNT, count * count_paths(tree))
    try:
        return _exact(trees, chip, count, effort)
    except TooManyStates:
        return _sampled(trees, chip, count, effort)


def _exact(trees: Sequence[Block], chip: Chip, count: int, effort: Effort) -> Paths:
    if len(trees) > 1:
        both = each_path(trees, chip)
        return Paths(_extreme(both.least), _extreme(both.most), both.mean, count, ())
    ways = Walker(chip, Budget(effort.passes, effort.joins)).all(trees[0])
    (end,) = ways.ends.values()
    return Paths(
        best=_extreme((end.least, end.quickest)),
        worst=_extreme((end.most, end.slowest)),
        expected=end.cycles,
        count=count,
        parts=tuple(_parts(trees[0], ways.spent, Fraction(1))),
    )


class _Samples(Protocol):
    """What draws one path after another."""

    seen: Seen
    work: int

    def sample(self) -> None: ...


def _sampled(trees: Sequence[Block], chip: Chip, count: int, effort: Effort) -> Paths:
    several = len(trees) > 1
    sampler: _Samples = (
        CoreSampler(trees, chip, effort.seed) if several else Sampler(trees[0], chip, effort.seed)
    )
    seen = sampler.seen
    wanted = MOST_SAMPLES if effort.samples is None else effort.samples
    while seen.size < max(wanted, LEAST_SAMPLES):
        sampler.sample()
        if effort.samples is None and seen.size >= LEAST_SAMPLES and sampler.work >= effort.passes:
            break
    assert seen.least
    assert seen.most
    return Paths(
        best=_extreme(seen.least),
        worst=_extreme(seen.most),
        expected=seen.mean,
        count=count,
        parts=() if several else tuple(_parts(trees[0], seen.spent, Fraction(1, seen.size))),
        sample=Sample(seen.size, effort.seed, *seen.interval()),
    )


def _extreme(found: tuple[int, Taken]) -> Extreme:
    return Extreme(found[0], decisions(found[1]))


def _parts(block: Block, spent: Mapping[PartKey, Spent], scale: Fraction) -> list[PartCost]:
    parts: list[PartCost] = []
    for node in block.nodes:
        match node:
            case Choice():
                for option in node.options:
                    parts.append(_part((node.name, option.name), option.probability, spent, scale))
                    parts += _parts(option.body, spent, scale)
            case Iterations():
                parts.append(_part((node.name, None), Fraction(1), spent, scale))
                parts += _parts(node.body, spent, scale)
            case _:
                pass
    return parts


def _part(key: PartKey, probability: Fraction, spent: Mapping[PartKey, Spent], scale: Fraction) -> PartCost:
    known = spent.get(key)
    if known is None:
        return PartCost(*key, probability, Fraction(0), Fraction(0), None, None)
    return PartCost(*key, probability, known.runs * scale, known.cycles * scale, known.least, known.most)
