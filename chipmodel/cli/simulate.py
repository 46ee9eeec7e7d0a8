"""``chipmodel simulate``: plan a workload, simulate the plan, and say what it costs and why."""

from __future__ import annotations

from typing import Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    started,
)
from chipmodel.cli.output import AnswerFiles, show
from chipmodel.cli.verdict import verdict
from chipmodel.pipeline.choices import Extreme


@command
def simulate(
    *,
    source: WorkloadOptions,
    target: ChipOptions,
    path: tuple[Extreme | None, dict[str, str]],
    files: AnswerFiles,
    plan_file: str | None,
    trace_file: str | None,
    bound_file: str | None,
    **asked: Any,
) -> int:
    """Plan WORKLOAD's memory and transfers, simulate the plan, and say what it costs and why.

    The default streamer is auto. The default of chipmodel plan is exact, which searches longer.

    Exit codes: 0 fits, 1 does not fit, 2 bad input, 3 the time limit came before a plan that fits.

    \f
    # Where the time goes, as a page
    chipmodel simulate zoo:resnet18 --chip stm32n6 --html run.html
    # The same with less SharedMemory
    chipmodel simulate zoo:resnet18 --chip stm32n6 --set shared_memory.bytes=1MiB
    # An ONNX model of unknown batch, in int8
    chipmodel simulate model.onnx --shape batch=1 --dtype int8
    # The result for diff, and the plan for check
    chipmodel simulate zoo:resnet8 --json result.json --plan plan.json
    """
    from chipmodel.api.simulation import simulate as plan_and_simulate
    from reports.run.summary import print_summary

    limit, chip, (extreme, choices) = started(asked), target.load(), path
    answer = plan_and_simulate(source.load(limit), chip, path=choices, extreme=extreme, **asked)
    further = (trace_file, answer.trace_text), (bound_file, answer.bound_text)
    files.write(answer, (plan_file, answer.plan_text), *further)
    result = answer.result
    show(files.json_file, answer.to_json, lambda console: print_summary(result, console))
    return verdict(result.fit, result.solved, bool(result.cut_short))
