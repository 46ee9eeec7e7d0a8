"""``chipmodel compare``: every planner on the same workload, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import click

from chipmodel.cli.file_options import WRITES_OR_STDOUT, FileCommand
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
from chipmodel.cli.output import html_option, show, write_files
from chipmodel.cli.packing_source import CapacityOptions, SearchOptions, capacity_options, search_options
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import (
    CASCADE_AUTO,
    COMPARE_SECONDS,
    DEFAULT_PACKER,
    DEFAULT_STREAMER,
    OrderWish,
)


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """Which planners are compared, and which are fixed."""

    packers: str | None
    merges: str | None
    streamers: str | None
    packer: str | None
    streamer: str | None


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
@capacity_options(
    "Bytes that a packing may use, as in pack.", "A memory of a packing, as in pack. Repeatable."
)
@search_options(
    COMPARE_SECONDS,
    "Stop each planner that searches after S seconds.",
    "Stop each after N nodes: the same plans every time.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    type=WRITES_OR_STDOUT,
    help="Write all rows as one JSON document.",
)
@html_option
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
    guillotine:n=100,seed=3. All packers get the same buffers, those of --streamer's schedule, and make the
    peak as small as they can, whatever the capacity. With --order best all rows use the order that is
    fastest with --packer and --streamer. The exit code is 0 even if nothing fits.

    \b
      gap            (peak - bound) / bound; the bound is the highest that any of
                     the packers proved
      fragmentation  the share of the peak that no live buffer takes, when the
                     highest buffer is alive and most bytes are
      cycle gap      (cycles - bound) / bound, with the bound of simulate
    """
    from chipmodel.api.comparison import compare as compare_planners
    from chipmodel.api.packing import is_packing
    from reports.compare.rows import print_comparison

    limits = search.limits(COMPARE_SECONDS)
    packed = is_packing(source.workload)
    if packed:
        _refuse(source.given() | _of_programs(target, planners, memory), "says nothing about a packing")
        _refuse({"--path": choices, "--order": order != "given"}, "says nothing about a packing")
        answer = compare_planners(
            memory_limits.read(source.workload),
            packers=_listed(planners.packers),
            node_limit=limits.nodes,
            seed=limits.seed,
            name=source.workload,
            time_limit=limits.seconds,
        )
    else:
        given = {"--capacity": memory_limits.capacity, "--memory": memory_limits.memories}
        _refuse(given, "is for packings", "use --set shared_memory.bytes=...")
        chip = target.load()
        answer = compare_planners(
            source.load(),
            chip,
            packers=_listed(planners.packers),
            merges=_listed(planners.merges),
            streamers=_listed(planners.streamers),
            path=path_choices(choices),
            node_limit=limits.nodes,
            seed=limits.seed,
            packer=planners.packer or DEFAULT_PACKER,
            streamer=planners.streamer or DEFAULT_STREAMER,
            merge=memory.merge,
            spill=not memory.no_spill,
            in_place=memory.in_place,
            cascade=memory.cascade,
            recompute=memory.recompute,
            order=order,
            time_limit=limits.seconds,
        )
    write_files(((html_file, answer.to_html), (json_file, answer.to_json)))
    show(json_file, answer.to_json, lambda console: print_comparison(answer.result, console))


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
        "--recompute": memory.recompute,
    }


def _refuse(given: Mapping[str, object], why: str, hint: str = "leave it out") -> None:
    for option, value in given.items():
        if value:
            raise BadInput(f"{option} {why}", hint=hint)


def _listed(text: str | None) -> list[str] | None:
    """The names between commas; None where none are given."""
    return [part.strip() for part in text.split(",")] if text else None
