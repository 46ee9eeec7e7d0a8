"""``chipmodel compare``: every planner on the same workload, in one table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click

from chipmodel.cli.command import command
from chipmodel.cli.file_options import label_of
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
)
from chipmodel.cli.output import AnswerFiles
from chipmodel.cli.packing_source import CapacityOptions
from chipmodel.errors import BadInput

FOR_PACKINGS = {
    *("--packers", "--capacity", "--memory", "--time-limit", "--node-limit", "--seed"),
    *("--json", "--html"),
}
"""Options that say something about a packing."""


@command
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
    options = [parameter for parameter in context.command.params if isinstance(parameter, click.Option)]
    written = click.core.ParameterSource.COMMANDLINE
    return {
        label_of(option) for option in options if context.get_parameter_source(option.name or "") is written
    }


def _refuse(options: Collection[str], why: str, hint: str) -> None:
    for name in sorted(options):
        raise BadInput(f"{name} {why}", hint=hint)
