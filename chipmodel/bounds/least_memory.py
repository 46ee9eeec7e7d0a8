"""The least SharedMemory of the listed ways in which nothing leaves it but inputs and outputs of a program.

Ways with few rows a step, in bands of columns and with rows made again are listed only for memories in which
those with neither have no path, which are known first.

Source: chipmodel. Huang et al. 2025 ("msf-CNN") minimise bytes for a limit on multiply-accumulates over paths
of a graph of segments, too, each with its columns kept; here rows of each tensor may be kept as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from chipmodel.bounds.columns import (
    FastestWays,
    ListedInstance,
    PlanChoices,
    listed_instance,
    named_tensors,
    paths_through_arms,
    ways_of,
)
from chipmodel.cascades.recomputed import computed
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from dma.columns.ladder import LEAST_MEMORY, Cascades
from dma.columns.plan_ways import PlanWays
from dma.residency.storages import tensors_within
from solvers.columns.least_memory import LeastMemorySearch
from solvers.columns.path import FastestPath, fastest_path
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.fluid.borders import NEVER

LOOSER = (Fraction(1), Fraction(33, 32), Fraction(9, 8))
"""Sizes of memory that plans are sought for, in shares of the least: the packer's fragmentation may favour
another path."""
NO_WAYS = PlanWays()
UNLIMITED = 1 << 40
"""Bytes in which everything fits."""


class LeastMemory(NamedTuple):
    """The fewest bytes of all listed ways, and the ways of paths for ever more bytes from there on."""

    bytes: int
    paths: tuple[FastestWays, ...]


def least_memory(
    program: Program,
    chip: Chip,
    recompute: float | None = None,
    sizes: Sequence[int] = (),
    deadline: Deadline = NO_DEADLINE,
    own: PlanWays = NO_WAYS,
) -> LeastMemory | None:
    """Return the fewest bytes of SharedMemory in which a listed plan of ``program`` moves no tensor but
    inputs and outputs, and the ways of such plans in about so many.

    Parameters
    ----------
    recompute : float | None
        How many times the multiply-accumulates (MACs) of the program its cascades may compute, by rows made
        again and in bands of columns; None: they keep rows, and have bands as wide as they like.
    sizes : Sequence[int]
        Further bytes for which ways are asked for, if they are enough.
    own : PlanWays
        Ways of a plan, which are listed, too.

    Returns
    -------
    LeastMemory | None
        None without the compiled kernel, for several cores, and for paths that are too long.

    Raises
    ------
    TimeIsOver
        Where the deadline comes first.
    """
    further = None if recompute is None else max(0, int((recompute - 1) * computed(program)))
    asked = LEAST_MEMORY._replace(further_macs=further)
    searches: list[_Path] = []
    for path in paths_through_arms(program, {}):
        first = asked._replace(bands=(), further_macs=None)
        plain = _search(program, chip, path, first, UNLIMITED, own, deadline)
        if plain is None:
            return None
        size = plain.search.least(plain.most_macs(further))
        lower = size and _search(program, chip, path, asked, size, own, deadline)
        searches.append(lower or plain)
    least = max(each.search.least(each.most_macs(further)) or 0 for each in searches)
    asked_sizes = sorted({int(least * share) for share in LOOSER} | {size for size in sizes if size > least})
    names = [named_tensors(program, each.made, tensors_within(program)) for each in searches]
    found: list[FastestWays] = []
    for size in asked_sizes:
        paths = [each.path(size, further, deadline) for each in searches]
        known = zip((each.made for each in searches), names, paths, strict=True)
        ways = ways_of(chip, size, [*known])
        if ways and all(ways.ways != other.ways for other in found):
            found.append(ways)
    return LeastMemory(least, tuple(found))


class _Path(NamedTuple):
    """A path through a program, and all listed ways along it."""

    made: ListedInstance
    search: LeastMemorySearch

    def most_macs(self, further: int | None) -> int:
        """The most MACs along it: of a loop each of its iterations may compute so many more."""
        if further is None:
            return NEVER
        times = max(Counter(op.name for op in self.made.ops).values())
        return sum(op.work.macs for op in self.made.ops) + times * further

    def path(self, size: int, further: int | None, deadline: Deadline) -> FastestPath | None:
        """A path for so many bytes: the fastest one, or within a limit on MACs one of few NPU cycles."""
        if further is not None:
            return self.search.within(size, self.most_macs(further))
        problem = replace(self.made.problem, capacity=min(size, self.made.problem.capacity))
        return fastest_path(problem, self.made.columns.by_time(), deadline=deadline)


def _search(
    program: Program,
    chip: Chip,
    path: Mapping[str, str],
    tried: Cascades,
    size: int,
    own: PlanWays,
    deadline: Deadline,
) -> _Path | None:
    sought = PlanChoices(tensors_within(program), True, tried)
    made = listed_instance(program, chip.with_memory(size), path, True, own, 1, deadline, sought)
    return made and _Path(made, LeastMemorySearch(made.problem, made.columns, deadline))
