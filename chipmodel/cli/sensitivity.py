"""``chipmodel sensitivity``: which number of a chip matters for a workload."""

from __future__ import annotations

import click

from chipmodel.cli.file_options import FileCommand
from chipmodel.cli.options import (
    ChipOptions,
    EffortOptions,
    WorkloadOptions,
    chip_options,
    effort_options,
    planner_options,
    workload_options,
)
from chipmodel.cli.output import AnswerFiles, answer_options, note
from chipmodel.pipeline.choices import SENSITIVITY_STEP


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planner_options()
@effort_options
@click.option(
    "--step",
    metavar="SHARE",
    type=float,
    default=SENSITIVITY_STEP,
    show_default=True,
    help="The share by which each number is made smaller and larger.",
)
@click.option(
    "--vary",
    "fields",
    metavar="FIELD",
    multiple=True,
    help="Vary only this number. Repeatable. [all numbers of the chip]",
)
@answer_options()
def sensitivity(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    packer: str,
    streamer: str,
    effort: EffortOptions,
    step: float,
    fields: tuple[str, ...],
    files: AnswerFiles,
) -> None:
    """Say which number of a chip matters for WORKLOAD.

    Each number of the chip is made smaller and larger by --step, one at a time; WORKLOAD is planned and
    simulated again each time. A whole number changes by at least 1; a power of two is halved and doubled.
    The answer lists the numbers by the change of time that they cause; the page draws it as a tornado chart.
    Every number takes two runs; --vary, or one planner instead of auto, makes it quicker.

    Exit codes: 0 done, 1 WORKLOAD does not fit the chip as it is, 2 bad input.
    """
    from chipmodel.api.sensitivity import sensitivity as find

    limit = effort.start()
    answer = find(
        source.load(),
        target.load(),
        step=step,
        fields=fields,
        packer=packer,
        streamer=streamer,
        gap=effort.share,
        time_limit=limit,
    )
    files.give(answer)
    note(f"ended early: {part}" for part in limit.cut_short)
