"""``chipmodel plan``: offsets and transfers, without a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.file_options import STDOUT
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    started,
)
from chipmodel.cli.output import note, write_files
from chipmodel.cli.verdict import verdict
from chipmodel.errors import BadInput
from chipmodel.terminal.printing import emit, remark


@command
def plan(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    output: str,
    model_file: str | None,
    html_file: str | None,
    **asked: Any,
) -> int:
    """Plan WORKLOAD: an offset for every buffer, and the commands of the sequencer and the DMA engine.

    chipmodel check verifies the plan, chipmodel export turns it into C. The forecast of its cycles
    (without contention) and their lower bound are on stderr. Only for chips with one core. The default
    streamer is exact. It searches longer than auto, the default of simulate, because a plan is made once and
    kept.

    Exit codes: 0 fits, 1 does not fit, 2 bad input, 3 the time limit came before a plan that fits.

    \f
    # A plan for chipmodel check
    chipmodel plan zoo:resnet8 --chip stm32n6 -o plan.json
    # A quick one, by named planners
    chipmodel plan zoo:resnet8 --packer large-first --streamer ping-pong
    """
    from chipmodel.api.plan import plan as plan_workload
    from chipmodel.comparison.arena import planned_model
    from solvers.core.outcome import Limits
    from workloads.load import TFLITE_SUFFIX

    limit = started(asked)
    if model_file and Path(source.workload).suffix.lower() != TFLITE_SUFFIX:
        raise BadInput("--write-model is for TFLite files", hint="leave it out, or give a .tflite file")
    chip = target.load()
    program = source.load(limit)
    answer = plan_workload(program, chip, **asked)
    if output == STDOUT:
        emit(answer.to_json())
    limits = None if limit.seconds is None else Limits(seconds=limit.seconds)
    write_files(
        [
            (output, answer.to_json),
            (html_file, answer.to_html),
            (model_file, lambda: planned_model(Path(source.workload), limits)),
        ]
    )
    remark("\n".join((answer.headline(), *answer.remarks())))
    note(text for text in answer.program.notes if text not in program.notes)
    note(f"ended early: {part}" for part in answer.cut_short)
    return verdict(answer.fit, answer.planned.solved, bool(answer.cut_short))
