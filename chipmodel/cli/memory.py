"""``chipmodel memory``: the smallest SharedMemory that a workload runs in, and the cycles with more."""

from __future__ import annotations

from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    started,
)
from chipmodel.cli.output import AnswerFiles, note

MOST_POINTS = 100


@command
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
