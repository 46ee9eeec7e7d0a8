"""Several planners on the same workload, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from chipmodel.answers.comparison import PlannerComparison
from chipmodel.api.answer import Telling, ToldAnswer, same_columns
from chipmodel.api.arguments import checked
from chipmodel.api.effort import TimeLimit, observing
from chipmodel.api.packing import PackingSource, is_packing, packing_table, search_seconds
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.api.target import ChipSource, chip as chip_of
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.comparison.run import Contenders, compare_in_order, compare_packing
from chipmodel.pipeline.choices import COMPARE_SECONDS, DEFAULT_CHIP
from chipmodel.records import dataclass
from dma.schedule.effort import StopCriterion
from dma.stream import streamer_named, streamers
from reports.compare import headline, page
from solvers.branches.mergers import merger_named, mergers
from solvers.core.outcome import Limits
from solvers.registry import packer_named, packers

Names = Literal["all"] | Iterable[str] | None
"""Planners to compare: all, those named, or none."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ToldAnswer):
    """What each planner came to. ``result`` has every detail."""

    result: PlannerComparison
    telling = Telling(headline, page)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A planner a row; what does not belong to its kind is None."""
        document = self.to_dict()
        kinds = {"packer": "packers", "merge": "merges", "streamer": "streamers"}
        table = [
            {"kind": kind, "name": row[kind], **row} for kind, key in kinds.items() for row in document[key]
        ]
        return same_columns(table, ("trajectory", "cascades", *kinds))


@checked
def compare(
    workload: WorkloadSource | PackingSource,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    packers: Names = None,
    merges: Names = None,
    streamers: Names = None,
    path: Mapping[str, str | int] | None = None,
    node_limit: int | None = None,
    seed: int = 0,
    name: str = "buffers",
    **options: Unpack[PlanOptions],
) -> Comparison:
    """Compare packers and mergers on one packing problem, or streamers in whole runs.

    All packers get the same buffers, those in the schedule of the ``streamer`` of the options, and make the
    peak as small as they can whatever the capacity. All packers are compared where neither ``packers``,
    ``merges`` nor ``streamers`` is given. ``time_limit`` is for each planner that searches, 10 s by default.

    Parameters
    ----------
    workload
        A program as ``load`` takes it, or a packing problem as ``pack`` does.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    packers, merges, streamers
        Names of planners, or ``"all"``. A packing problem takes no streamers.
    path
        The arm of each ``if`` and the iterations of each ``loop`` in the runs; by default the first arms.
    node_limit
        Nodes after which each search ends.
    seed
        Seed of every search.
    name
        What the answer calls a packing problem that is no file.
    **options
        Those of ``PlanOptions``.

    Raises
    ------
    BadInput
        If the workload or chip cannot be read, or a name is not known.
    DoesNotFit
        If the streamer of the options has no schedule in this memory.

    Examples
    --------
    >>> [row["peak_bytes"] for row in compare("zoo:resnet8", "gap9", packers=["large-first", "exact"]).rows()]
    [72192, 68096]
    """
    chosen = _chosen(packers, merges, streamers)
    limits = _limits(options.get("time_limit"), node_limit, seed)
    settings = PlanSettings(**options)
    with observing(settings.progress):
        if is_packing(workload):
            table = packing_table(workload)
            called = str(workload) if isinstance(workload, str | Path) else name
            return Comparison(compare_packing(table, called, chosen.packers, limits))
        packer_named(settings.packer)
        streamer_named(settings.streamer)
        merger_named(settings.merge)
        target = chip_of(chip)
        asked = settings.request(load(workload), target)  # type: ignore[arg-type]
        asked = replace(asked, limits=None, stop=StopCriterion(limits.seconds))
        choices = {name: str(choice) for name, choice in (path or {}).items()}
        order = settings.order_of(asked.program)
        return Comparison(compare_in_order(asked, order, choices, replace(chosen, limits=limits)))


def _chosen(packer_names: Names, merger_names: Names, streamer_names: Names) -> Contenders:
    """The planners to compare by their full names. Raises BadInput for unknown ones."""
    if packer_names is None and not (merger_names or streamer_names):
        packer_names = "all"
    return Contenders(
        tuple(packer_named(name).name for name in _listed(packer_names, packers)),
        tuple(merger_named(name).name for name in _listed(merger_names, mergers)),
        tuple(streamer_named(name).name for name in _listed(streamer_names, streamers)),
    )


def _listed(names: Names, known: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """The names, each once; ``all`` means those that are ``known``, also among others."""
    wanted = [names] if isinstance(names, str) else names or ()
    listed: list[str] = []
    for name in wanted:
        listed += known() if name == "all" else [name]
    return tuple(dict.fromkeys(listed))


def _limits(given: float | TimeLimit | None, nodes: int | None, seed: int) -> Limits:
    seconds = given.seconds if isinstance(given, TimeLimit) else given
    return Limits(search_seconds(seconds, nodes, seed, COMPARE_SECONDS), nodes, seed)
