"""``chipmodel decode``: a language model by the length of its context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from chipmodel.cli.file_options import FileCommand
from chipmodel.cli.options import (
    ChipOptions,
    PlanningOptions,
    WorkloadOptions,
    chip_options,
    planning_options,
    workload_options,
)
from chipmodel.cli.output import AnswerFiles, answer_options, note
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, BadInput

if TYPE_CHECKING:
    from chipmodel.model.program import Program


@click.command(cls=FileCommand)
@workload_options
@click.option(
    "--context",
    metavar="A..B|N,...",
    default="1..256",
    show_default=True,
    help="Lengths in tokens: both ends and the powers of two between them, or a list.",
)
@click.option("--tokens-size", metavar="NAME", help="Symbolic size of new tokens. [sequence_length]")
@click.option("--past-size", metavar="NAME", help="Symbolic size of the cache. [past_sequence_length]")
@click.option("--total-size", metavar="NAME", help="Symbolic size of both together, if the file has one.")
@chip_options
@planning_options()
@answer_options()
def decode(
    *,
    source: WorkloadOptions,
    context: str,
    tokens_size: str | None,
    past_size: str | None,
    total_size: str | None,
    target: ChipOptions,
    planning: PlanningOptions,
    files: AnswerFiles,
) -> int:
    """Find how long a language model takes for a prompt and for a token at each length of its context.

    WORKLOAD is an ONNX file with a key-value cache, or zoo:stories. Each length is planned
    and simulated by itself, as chipmodel simulate does: first a prompt of that length, then three tokens in a
    row; the last one counts. The answer has tokens per second, the gap to a lower bound, the weights that
    stay in SharedMemory, and where the cache lies.

    Exit codes: 0 done, 1 WORKLOAD does not fit at some length, 2 bad input.
    """
    from chipmodel.api.decode import SizeNames, decode as find

    if source.steady_state is not None:
        raise BadInput("--steady-state: decode runs tokens in a row anyway", hint="leave it out")
    limit = planning.effort.start()
    names = SizeNames()
    names = SizeNames(tokens_size or names.tokens, past_size or names.past, total_size or "")

    def at(tokens: int, past: int) -> Program:
        model, sizes = names.of(source.workload, tokens, past)
        return replace(source, workload=model).read(limit, sizes)

    answer = find(at, target.load(), context=context, **planning.within(limit))
    files.give(answer)
    note(answer.answer.notes)
    note(f"ended early: {part}" for part in limit.cut_short)
    return EXIT_DONE if answer.answer.fits else EXIT_DOES_NOT_FIT
