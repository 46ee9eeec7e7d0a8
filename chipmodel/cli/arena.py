"""``chipmodel arena``: how large the arena of TensorFlow Lite Micro must be, and a plan for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.options import until_stopped
from chipmodel.cli.output import AnswerFiles
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import ARENA_SECONDS


@command
def arena(
    *,
    source: str,
    sram: str | None,
    psram: str | None,
    chip: str | None,
    model_file: str | None,
    header_file: str | None,
    files: AnswerFiles,
    **asked: Any,
) -> None:
    """Say how large tensor_arena_size must be for MODEL.tflite, and plan the arena.

    The head holds the tensors and the memory that kernels request. Its size is exact to the byte: with the
    layout of the runtime's own planner, and as small as possible, with a lower bound. The tail stays for
    good; its size is estimated. Kernels are TensorFlow Lite Micro's reference kernels; kernels for one
    processor may request more.

    With --sram and --psram tensors lie in two memories, chosen so that accesses to Psram cost the least.
    --write-header writes that plan for the released runtime.

    Exit codes: 0 planned, 1 two memories are too small, 2 bad input, 3 no plan found within the limits.

    \f
    # The smallest arena, and a model that has its plan
    chipmodel arena model.tflite --write-model planned.tflite
    # Hot tensors in SRAM
    chipmodel arena model.tflite --sram 256KiB --psram 8MiB --write-header net.h
    """
    from chipmodel.api.arena import arena as plan_arena, split_arena
    from chipmodel.api.packing import search_seconds

    seconds = search_seconds(asked["time_limit"], asked["node_limit"], asked["seed"], ARENA_SECONDS)
    asked["time_limit"] = until_stopped(seconds)
    if sram is None or psram is None:
        _refuse({"--sram": sram, "--psram": psram, "--chip": chip, "--write-header": header_file})
        answer = plan_arena(source, **asked)
        files.give(answer, (model_file, lambda: answer.model))
        return
    if model_file:
        what = "--write-model: the runtime's own planner cannot follow offsets in two memories"
        raise BadInput(what, hint="--write-header has a planner that does")
    split = split_arena(source, sram=sram, psram=psram, chip=chip, **asked)
    files.give(split, (header_file, lambda: split.header))


def _refuse(given: Mapping[str, str | None]) -> None:
    """Raise BadInput for an option that needs both memories."""
    for name, value in given.items():
        if value is not None:
            raise BadInput(f"{name} is for two memories", hint="give both --sram and --psram")
