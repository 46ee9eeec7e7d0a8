"""``chipmodel sensitivity``: which number of a chip matters for a workload."""

from __future__ import annotations

from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    started,
)
from chipmodel.cli.output import AnswerFiles, note


@command
def sensitivity(*, source: WorkloadOptions, target: ChipOptions, files: AnswerFiles, **asked: Any) -> None:
    """Say which number of a chip matters for WORKLOAD.

    Each number of the chip is made smaller and larger by --step, one at a time; WORKLOAD is planned and
    simulated again each time. A whole number changes by at least 1; a power of two is halved and doubled.
    The answer lists the numbers by the change of time that they cause; the page draws it as a tornado chart.
    Every number takes two runs; --vary, or one planner instead of auto, makes it quicker.

    Exit codes: 0 done, 1 WORKLOAD does not fit the chip as it is, 2 bad input.

    \f
    # What a faster or slower Psram changes
    chipmodel sensitivity zoo:resnet8 --vary psram.clock_mhz
    """
    from chipmodel.api.sensitivity import sensitivity as find

    limit = started(asked)
    files.give(find(source.load(limit), target.load(), **asked))
    note(f"ended early: {part}" for part in limit.cut_short)
