"""``chipmodel compare``: every planner on the same workload, in one table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click

from chipmodel.cli.file_options import FileCommand, label_of, option
from chipmodel.cli.option_groups import Decorator, all_of
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    chip_options,
    memory_options,
    order_option,
    path_option,
    workload_options,
)
from chipmodel.cli.output import AnswerFiles, answer_options
from chipmodel.cli.packing_source import CapacityOptions, capacity_options, search_options
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import COMPARE_SECONDS, DEFAULT_PACKER, DEFAULT_STREAMER

FOR_PACKINGS = {
    *("--packers", "--capacity", "--memory", "--time-limit", "--node-limit", "--seed"),
    *("--json", "--html"),
}
"""Options that say something about a packing."""


def _listed(_: click.Context, __: click.Parameter, text: str | None) -> list[str] | None:
    """The names between commas; None where none are given."""
    return [part.strip() for part in text.split(",")] if text else None


def _names_option(declared: str, meaning: str) -> Decorator:
    return option(f"{declared} all|NAME,...", meaning, callback=_listed)


_planner_options = all_of(
    _names_option("--packers", "Packers to compare. [all, unless --streamers]"),
    _names_option("--merges", "Mergers to compare, with --packers or else --packer."),
    _names_option("--streamers", "Streamers to compare, in whole runs."),
    option("--packer NAME", "Packer of the streamers' runs.", default=DEFAULT_PACKER),
    option("--streamer NAME", "Whose schedule is packed.", default=DEFAULT_STREAMER),
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
@answer_options("all rows")
def compare(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    memory_limits: CapacityOptions,
    files: AnswerFiles,
    **asked: Any,
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

    \f
    # All packers on the buffers of a network
    chipmodel compare zoo:resnet8 --html packers.html
    # Two streamers in whole runs
    chipmodel compare zoo:resnet8 --streamers sync,ping-pong
    # Packers on a packing problem
    chipmodel compare guillotine:n=40,seed=3 --packers exact,large-first
    """
    from chipmodel.api.comparison import compare as compare_planners
    from chipmodel.api.packing import is_packing

    packed = is_packing(source.workload)
    if packed:
        _refuse(_given() - FOR_PACKINGS, "says nothing about a packing", "leave it out")
        table = memory_limits.read(source.workload)
        kept = {name: asked[name] for name in ("packers", "time_limit", "node_limit", "seed")}
        answer = compare_planners(table, name=source.workload, **kept)
    else:
        _refuse(
            _given() & {"--capacity", "--memory"}, "is for packings", "use --set shared_memory.bytes=64KiB"
        )
        chip = target.load()
        answer = compare_planners(source.load(), chip, **asked)
    files.give(answer)


def _given() -> set[str]:
    """The options on the command line."""
    context = click.get_current_context()
    options = [each for each in context.command.params if isinstance(each, click.Option)]
    written = click.core.ParameterSource.COMMANDLINE
    return {label_of(each) for each in options if context.get_parameter_source(each.name or "") is written}


def _refuse(options: Collection[str], why: str, hint: str) -> None:
    for name in sorted(options):
        raise BadInput(f"{name} {why}", hint=hint)
