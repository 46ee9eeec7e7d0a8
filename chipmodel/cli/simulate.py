"""``chipmodel simulate``: plan a workload, simulate the plan, and say what it costs and why."""

from __future__ import annotations

from typing import Any, get_args

import click

from chipmodel.cli.file_options import FileCommand, option
from chipmodel.cli.option_groups import all_of, group
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    chip_options,
    path_choices,
    path_options,
    planning_options,
    seed_option,
    started,
    workload_options,
)
from chipmodel.cli.output import AnswerFiles, html_option, json_option, show
from chipmodel.cli.verdict import verdict
from chipmodel.errors import BadInput
from chipmodel.pipeline.choices import Extreme


def path_word(texts: tuple[str, ...]) -> tuple[Extreme | None, dict[str, str]]:
    """``--path best`` or ``--path worst``, and what else ``--path`` says. Raises BadInput."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    words = {word for word in get_args(Extreme) if word in parts}
    if len(words) > 1:
        raise BadInput("--path says both best and worst", hint="one of them is simulated in detail")
    return next(iter(words), None), path_choices(tuple(part for part in parts if part not in words))


_sample_options = all_of(
    option(
        "--samples N",
        "Sample N paths if there are too many for an exact answer.",
        click.IntRange(16, 1_000_000),
    ),
    seed_option("Seed of the sample."),
)


_file_options = group(
    "files",
    AnswerFiles,
    json_option(),
    option("--plan FILE", "Write offsets and commands, for chipmodel check.", to="plan_file"),
    option("--bound FILE", "Write the bound with its proof, for chipmodel check --bound.", to="bound_file"),
    option("--trace FILE", "Write Chrome trace events, for Perfetto.", to="trace_file"),
    html_option(),
)


@click.command(cls=FileCommand)
@workload_options
@chip_options
@planning_options()
@path_options(path_word, "NAME=CHOICE,...|best|worst", ", or the fastest or slowest path")
@_sample_options
@option("--with-sync", "Also plan with streamer sync, for comparison.")
@_file_options
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
