"""``chipmodel compare``: every planner on the same workload, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from chipmodel.cli.file_options import WRITES, WRITES_OR_STDOUT, FileCommand
from chipmodel.cli.option_groups import group
from chipmodel.cli.options import (
    ChipOptions,
    MemoryOptions,
    WorkloadOptions,
    chip_options,
    memory_options,
    order_option,
    path_choices,
    path_option,
    workload_options,
)
from chipmodel.cli.output import show, write_files
from chipmodel.cli.packing_source import (
    CapacityOptions,
    SearchOptions,
    capacity_options,
    is_packing,
    search_options,
)
from chipmodel.comparison.run import Contenders, compare_in_order, compare_packing
from chipmodel.errors import BadInput
from chipmodel.files.json_text import json_text
from chipmodel.passes.compiled_weights import compiled
from chipmodel.pipeline.order_choice import OrderRequest, OrderWish
from chipmodel.pipeline.request import CASCADE_AUTO, DEFAULT_PACKER, DEFAULT_STREAMER, PlanRequest
from dma.schedule.effort import StopCriterion
from dma.stream import streamer_named, streamers
from reports.compare.page import render_comparison
from reports.compare.rows import document, print_comparison
from solvers.branches.mergers import merger_named, mergers
from solvers.core.outcome import Limits
from solvers.registry import packer_named, packers

DEFAULT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """Which planners are compared, and which are fixed."""

    packers: str | None
    merges: str | None
    streamers: str | None
    packer: str | None
    streamer: str | None

    def packer_names(self) -> tuple[str, ...]:
        """Packers to compare: all, unless only mergers or streamers are asked for."""
        text = self.packers or ("" if self.streamers or self.merges else "all")
        return tuple(packer_named(name).name for name in _listed(text, list(packers())))

    def merger_names(self) -> tuple[str, ...]:
        """Mergers to compare."""
        return tuple(merger_named(name).name for name in _listed(self.merges, list(mergers())))

    def streamer_names(self) -> tuple[str, ...]:
        """Streamers to compare."""
        return tuple(streamer_named(name).name for name in _listed(self.streamers, list(streamers())))


_planner_options = group(
    "planners",
    PlannerOptions,
    click.option("--packers", metavar="all|NAME,...", help="Packers to compare. [all, unless --streamers]"),
    click.option(
        "--merges", metavar="all|NAME,...", help="Mergers to compare, with --packers or else --packer."
    ),
    click.option("--streamers", metavar="all|NAME,...", help="Streamers to compare, in whole runs."),
    click.option("--packer", metavar="NAME", help=f"Packer of the streamers' runs. [{DEFAULT_PACKER}]"),
    click.option("--streamer", metavar="NAME", help=f"Whose schedule is packed. [{DEFAULT_STREAMER}]"),
)


@click.command(cls=FileCommand)
@workload_options
@chip_options
@_planner_options
@memory_options
@path_option
@order_option
@capacity_options("Bytes there are, where WORKLOAD is a packing.", "As in pack. Repeatable.")
@search_options(
    DEFAULT_SECONDS,
    "Seconds, for each planner that searches.",
    "Nodes of search: the same plans every time.",
)
@click.option(
    "--json", "json_file", metavar="FILE|-", type=WRITES_OR_STDOUT, help="All rows as one JSON document."
)
@click.option("--html", "html_file", metavar="FILE", type=WRITES, help="One self-contained page.")
def compare(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    planners: PlannerOptions,
    memory: MemoryOptions,
    choices: tuple[str, ...],
    order: OrderWish,
    memory_limits: CapacityOptions,
    search: SearchOptions,
    json_file: str | None,
    html_file: str | None,
) -> None:
    """Compare packers and mergers on WORKLOAD's packing problem, and streamers in whole runs of it.

    WORKLOAD is anything that simulate takes, or a packing as pack takes it: FILE.csv or
    guillotine:n=100,seed=3. All packers get the same buffers, those of --streamer's schedule, and are to
    make the peak small whatever the capacity. --order best is the quickest order with --packer and
    --streamer, for all rows. The exit code is 0, whoever fits.

    \b
      gap            (peak - bound) / bound; the bound is the highest that any of
                     the packers proved
      fragmentation  the share of the peak that no live buffer takes, when the
                     highest buffer is alive and most bytes are
      cycle gap      (cycles - bound) / bound, with the bound of simulate
    """
    limits = search.limits(DEFAULT_SECONDS)
    if is_packing(source.workload):
        _refuse(source.given() | _of_programs(target, planners, memory), "says nothing about a packing")
        _refuse({"--path": choices, "--order": order != "given"}, "says nothing about a packing")
        table = memory_limits.read(source.workload)
        comparison = compare_packing(table, source.workload, planners.packer_names(), limits)
    else:
        given = {"--capacity": memory_limits.capacity, "--memory": memory_limits.memories}
        _refuse(given, "is for packings", "use --set shared_memory.bytes=...")
        contenders = Contenders(
            planners.packer_names(), planners.merger_names(), planners.streamer_names(), limits
        )
        request = _request(source, target, planners, memory, limits)
        wanted = OrderRequest(request.program, memory.in_place, order)
        comparison = compare_in_order(request, wanted, path_choices(choices), contenders)
    write_files(
        (
            (html_file, lambda: render_comparison(comparison)),
            (json_file, lambda: json_text(document(comparison))),
        )
    )
    show(
        json_file,
        lambda: json_text(document(comparison)),
        lambda console: print_comparison(comparison, console),
    )


def _request(
    source: WorkloadOptions,
    target: ChipOptions,
    planners: PlannerOptions,
    memory: MemoryOptions,
    limits: Limits,
) -> PlanRequest:
    packer = packer_named(planners.packer or DEFAULT_PACKER).name
    streamer = streamer_named(planners.streamer or DEFAULT_STREAMER).name
    chip = target.load()
    program = compiled(source.load(), chip)
    stop = StopCriterion(limits.seconds)
    return PlanRequest(
        program, chip, packer, streamer, memory.merge, not memory.no_spill, stop=stop, cascade=memory.cascade
    )


def _of_programs(target: ChipOptions, planners: PlannerOptions, memory: MemoryOptions) -> dict[str, object]:
    """What is given that says nothing about a packing problem, by option."""
    return {
        "--chip": target.chip_name,
        "--set": target.overrides,
        "--streamers": planners.streamers,
        "--merges": planners.merges,
        "--merge": memory.merge != "conflict",
        "--packer": planners.packer,
        "--streamer": planners.streamer,
        "--no-spill": memory.no_spill,
        "--in-place": memory.in_place != "all",
        "--cascade": memory.cascade != CASCADE_AUTO,
    }


def _refuse(given: Mapping[str, object], why: str, hint: str = "leave it out") -> None:
    for option, value in given.items():
        if value:
            raise BadInput(f"{option} {why}", hint=hint)


def _listed(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """The names in ``text``, each once; ``all`` means those that are ``known``."""
    names: list[str] = []
    for part in text.split(",") if text else ():
        names += known if part.strip() == "all" else [part.strip()]
    return tuple(dict.fromkeys(names))
