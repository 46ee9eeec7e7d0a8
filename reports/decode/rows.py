"""A language model by the length of its context, in words, as a table, and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chipmodel.answers.decode import ContextLength, DecodeAnswer, TimedRun, TokenRun
from reports.terminal_table import plain_table
from reports.words import percent, size

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "chipmodel-decode/1"
"""The version of the JSON document; a key that changes its meaning makes it another."""
HEADS = (">context", ">prompt ms", ">token ms", ">per s", ">gap", ">kept", ">cache", ">in Psram")
"""``kept`` are weights that stay in SharedMemory."""
NO_CACHE, NO_PLAN = "as prompt", "no plan"


def document(answer: DecodeAnswer) -> dict[str, Any]:
    """``answer`` as JSON values."""
    return {
        "format": FORMAT,
        "model": answer.model,
        "chip": answer.chip,
        "core_mhz": answer.core_mhz,
        "shared_memory_bytes": answer.capacity,
        "weight_bytes": answer.weight_bytes,
        "fits": answer.fits,
        "lengths": [
            length_values(answer, each) | {"resident": _resident(each.token)} for each in answer.lengths
        ],
        "notes": list(answer.notes),
    }


def _resident(token: TokenRun | None) -> list[dict[str, object]]:
    return [{"op": op, "bytes": kept} for op, kept in token.resident] if token else []


def length_values(answer: DecodeAnswer, length: ContextLength) -> dict[str, Any]:
    """One length, with null for what does not fit and for a token without a cache."""
    prefill, token = length.prefill, length.token
    return {
        "context": length.tokens,
        "prefill_cycles": prefill and prefill.cycles,
        "prefill_bound_cycles": prefill and prefill.bound,
        "prefill_milliseconds": prefill and answer.milliseconds(prefill.cycles),
        "token_cycles": token and token.further,
        "token_milliseconds": token and answer.milliseconds(token.further),
        "tokens_per_second": token and answer.per_second(token),
        "first_token_cycles": token and token.first,
        "run_tokens": token and token.tokens,
        "run_cycles": token and token.run.cycles,
        "run_bound_cycles": token and token.run.bound,
        "peak_bytes": token and token.peak,
        "resident_bytes": token and token.resident_bytes,
        "cache_bytes": token and token.cache,
        "cache_in_psram_bytes": token and token.cache_off_chip,
        "loaded_weight_bytes": token and token.loaded_weights,
        "moved_tensor_bytes": token and token.moved_tensors,
    }


def headline(answer: DecodeAnswer) -> str:
    """What was asked, and ``finding``."""
    return f"{answer.model} on {answer.chip}: {finding(answer)}."


def finding(answer: DecodeAnswer) -> str:
    """Tokens a second at the shortest and the longest context, and what the cache does meanwhile."""
    known = [(each.tokens, each.token) for each in answer.lengths if each.token]
    if not known:
        return "no token with a cache was planned"
    speeds = " and ".join(
        f"{answer.per_second(token):,.1f} tokens a second at a context of {tokens:,}"
        for tokens, token in (known[:: len(known) - 1] if len(known) > 1 else known)
    )
    left = next((tokens for tokens, token in known if token.cache_off_chip), None)
    cache = f"; from {left:,} on a part of the cache is in Psram" if left else "; the cache stays on chip"
    return f"{speeds}{cache}"


def length_rows(answer: DecodeAnswer) -> list[tuple[str, ...]]:
    """The lengths, under ``HEADS``."""
    return [
        (f"{each.tokens:,}", _prompt(answer, each.prefill), *_token_cells(answer, each))
        for each in answer.lengths
    ]


def _prompt(answer: DecodeAnswer, run: TimedRun | None) -> str:
    return f"{answer.milliseconds(run.cycles):,.3f}" if run else NO_PLAN


def _token_cells(answer: DecodeAnswer, length: ContextLength) -> tuple[str, ...]:
    token = length.token
    if token is None:
        return (NO_CACHE if length.tokens == 1 else NO_PLAN, *[""] * (len(HEADS) - 3))
    return (
        f"{answer.milliseconds(token.further):,.3f}",
        f"{answer.per_second(token):,.1f}",
        percent(token.run.gap),
        size(token.resident_bytes),
        size(token.cache),
        size(token.cache_off_chip) if token.cache_off_chip else "0",
    )


def print_decode(answer: DecodeAnswer, console: Console) -> None:
    """Print the answer to ``console``."""
    console.print(plain_table(headline(answer), HEADS, length_rows(answer)))
