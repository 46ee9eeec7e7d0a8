"""``chipmodel decode``: a language model by the length of its context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chipmodel.cli.command import command
from chipmodel.cli.options import (
    ChipOptions,
    WorkloadOptions,
    started,
)
from chipmodel.cli.output import AnswerFiles, note
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, BadInput

if TYPE_CHECKING:
    from chipmodel.model.program import Program


@command
def decode(
    *,
    source: WorkloadOptions,
    tokens_size: str,
    past_size: str,
    total_size: str | None,
    target: ChipOptions,
    files: AnswerFiles,
    **asked: Any,
) -> int:
    """Find how long a language model takes for a prompt and for a token at each length of its context.

    WORKLOAD is an ONNX file with a key-value cache, or zoo:stories. Each length is planned
    and simulated by itself, as chipmodel simulate does: first a prompt of that length, then three tokens in a
    row; the last one counts. The answer has tokens per second, the gap to a lower bound, the weights that
    stay in SharedMemory, and where the cache lies.

    Exit codes: 0 done, 1 WORKLOAD does not fit at some length, 2 bad input.

    \f
    # Tokens a second by context
    chipmodel decode "zoo:stories?variant=260K" --context 8,64 --html decode.html
    """
    from chipmodel.api.decode import SizeNames, decode as find

    if source.steady_state is not None:
        raise BadInput("--steady-state: decode runs tokens in a row anyway", hint="leave it out")
    limit, names = started(asked), SizeNames(tokens_size, past_size, total_size or "")

    def at(tokens: int, past: int) -> Program:
        model, sizes = names.of(source.workload, tokens, past)
        return replace(source, workload=model).read(limit, sizes)

    answer = find(at, target.load(), **asked)
    files.give(answer)
    note(answer.answer.notes)
    note(f"ended early: {part}" for part in limit.cut_short)
    return EXIT_DONE if answer.answer.fits else EXIT_DOES_NOT_FIT
