"""``chipmodel memory``: the smallest SharedMemory that a workload runs in, and the cycles with more."""

from __future__ import annotations

from typing import Any

import click

from chipmodel.cli.file_options import FileCommand, option
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    chip_options,
    effort_options,
    planner_options,
    recompute_option,
    started,
    workload_options,
)
from chipmodel.cli.output import AnswerFiles, answer_options, note
from chipmodel.pipeline.choices import MEMORY_POINTS

MOST_POINTS = 100


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planner_options()
@effort_options
@recompute_option
@option(
    "--points N",
    "Number of SharedMemory sizes to plan for.",
    click.IntRange(0, MOST_POINTS),
    default=MEMORY_POINTS,
)
@answer_options()
def memory(*, source: WorkloadOptions, target: ChipOptions, files: AnswerFiles, **asked: Any) -> None:
    """Find the smallest SharedMemory that WORKLOAD runs in, and how much faster it is with more.

    In that memory nothing is spilled and no op runs in stripes by itself: only outputs of WORKLOAD go to
    Psram, each once it is whole; weights and inputs pass through SharedMemory. The answer has
    two sizes: layer by layer, and with cascades, which run ops stripe by stripe so that the tensors between
    them never exist as a whole. Then come plans for --points sizes, from there to one in which everything
    fits. Only for chips with one core; the size of the chip's own SharedMemory does not matter.

    \f
    # How much SharedMemory a network needs
    chipmodel memory model.tflite --chip stm32n6 --points 4
    """
    from chipmodel.api.memory import smallest_memory

    limit = started(asked)
    chip = target.load()
    answer = smallest_memory(source.load(limit), chip, **asked)
    files.give(answer)
    note(f"ended early: {part}" for part in answer.answer.cut_short)
