"""A language model by the length of its context: in words, as a table, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chipmodel.answers.decode import ContextLength, DecodeAnswer, TimedRun, TokenRun
from reports.chart import STYLES, Axis, Chart, Style, axis, log_axis, series
from reports.page_parts import PageChart, PageTable, TablePage
from reports.words import percent, size

HEADS = (">context", ">prompt ms", ">token ms", ">per s", ">gap", ">kept", ">cache", ">in Psram")
"""``kept`` are weights that stay in SharedMemory."""
NO_CACHE, NO_PLAN = "as prompt", "no plan"


def headline(answer: DecodeAnswer) -> str:
    """What was asked, and ``finding``."""
    return f"{answer.model} on {answer.chip}: {finding(answer)}."


def finding(answer: DecodeAnswer) -> str:
    """Tokens a second at the shortest and the longest context, and what the cache does meanwhile."""
    known = [(length.tokens, length.token) for length in answer.lengths if length.token]
    if not known:
        return f"no token with a cache was planned{answer.reason and f': {answer.reason}'}"
    speeds = " and ".join(
        f"{token.per_second:,.1f} tokens a second at a context of {tokens:,}"
        for tokens, token in (known[:: len(known) - 1] if len(known) > 1 else known)
    )
    left = next((tokens for tokens, token in known if token.cache_off_chip), None)
    cache = f"; from {left:,} on a part of the cache is in Psram" if left else "; the cache stays on chip"
    return f"{speeds}{cache}"


def length_rows(answer: DecodeAnswer) -> list[tuple[str, ...]]:
    """The lengths, under ``HEADS``."""
    return [
        (f"{length.tokens:,}", _prompt(length.prefill), *_token_cells(length)) for length in answer.lengths
    ]


def _prompt(run: TimedRun | None) -> str:
    return f"{run.milliseconds:,.3f}" if run else NO_PLAN


def _token_cells(length: ContextLength) -> tuple[str, ...]:
    token = length.token
    if token is None:
        return (NO_CACHE if length.tokens == 1 else NO_PLAN, *[""] * (len(HEADS) - 3))
    return (
        f"{token.milliseconds:,.3f}",
        f"{token.per_second:,.1f}",
        percent(token.run.gap),
        size(token.resident_bytes),
        size(token.cache),
        size(token.cache_off_chip) if token.cache_off_chip else "0",
    )


Known = Sequence[tuple[int, TokenRun]]
"""The lengths at which a token was planned."""


def page(answer: DecodeAnswer) -> TablePage:
    """Every length, with charts of speed and memory."""
    known = [(length.tokens, length.token) for length in answer.lengths if length.token]
    charts = (
        PageChart(
            "speed",
            "Tokens a second against the context",
            "Each mark is a plan that was made and simulated. The horizontal axis is logarithmic.",
            _speed(known),
        ),
        PageChart(
            "memory",
            "Memory against the context",
            f"The bytes that stay in the {size(answer.capacity)} of SharedMemory from token to token. The "
            "rest is for activations and for weights that pass through.",
            _memory(known),
        ),
    )
    hint = (
        f"A prompt runs all its tokens at once. A token is the last of {known[0][1].tokens} in a row at this "
        "length; the gap is how far all of them are above a bound that no plan can beat. "
        "Kept are weights that stay in SharedMemory from token to token."
        if known
        else ""
    )
    resident = [_resident_row(tokens, token) for tokens, token in known]
    tables = (
        PageTable("lengths", "Every length", HEADS, length_rows(answer), hint),
        PageTable(
            "resident", "Weights that stay", (">context", ">loaded for a token", "ops"), resident, most=0
        ),
    )
    sentence = finding(answer)
    on, told = f"on {answer.chip}", (f"{sentence[:1].upper()}{sentence[1:]}.",)
    return TablePage("decode", answer.model, on, told, tables, charts)


def _resident_row(tokens: int, token: TokenRun) -> tuple[str, str, str]:
    kept = ", ".join(f"{op} {size(kept)}" for op, kept in token.resident.items())
    return (f"{tokens:,}", size(token.loaded_weights), kept or "none: no plan that was tried is faster so")


def _speed(known: Known) -> Chart:
    line = _line("tokens a second", STYLES[0], known, lambda token: token.per_second, "{:,.1f} a second")
    return _chart([line], known, axis("tokens/s", rangemode="tozero"))


def _memory(known: Known) -> Chart:
    """Bytes of SharedMemory that weights and the cache take, and of the cache in Psram."""
    lines = [
        _line("weights that stay", STYLES[0], known, lambda token: token.resident_bytes, "{:,} B"),
        _line("cache on chip", STYLES[1], known, lambda token: token.cache - token.cache_off_chip, "{:,} B"),
        _line("cache in Psram", STYLES[2], known, lambda token: token.cache_off_chip, "{:,} B"),
    ]
    return _chart(lines, known, axis("bytes", rangemode="tozero", tickformat="~s"))


def _line(
    name: str, style: Style, known: Known, value: Callable[[TokenRun], float], words: str
) -> dict[str, Any]:
    points = [(tokens, value(token)) for tokens, token in known]
    texts = [f"{name} at {tokens:,}: {words.format(number)}" for tokens, number in points]
    return series(name, "lines+markers", points, texts, style)


def _chart(lines: list[dict[str, Any]], known: Known, y: Axis) -> Chart:
    """The lines over the context; none for fewer than two lengths."""
    lengths = {float(tokens): f"{tokens:,}" for tokens, _ in known}
    axes = {"xaxis": log_axis("tokens of context", lengths), "yaxis": y}
    return Chart(lines if len(known) > 1 else [], axes, 340)
