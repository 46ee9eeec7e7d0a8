"""A language model by the length of its context: in words, as a table, as JSON values and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chipmodel.answers.decode import ContextLength, DecodeAnswer, TimedRun, TokenRun
from reports.page_parts import PageChart, PageTable, SummaryTile, TablePage
from reports.svg_chart import ChartAxis, ChartLine, ChartMark, Point, SvgChart
from reports.words import percent, ratio, size

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
        "notes": [*answer.notes, *filter(None, [answer.reason])],
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
        return f"no token with a cache was planned{answer.reason and f': {answer.reason}'}"
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


SHAPES = (("wide", 860, 340, 10), ("narrow", 370, 280, 5))
"""The two sizes of each chart: class, width and height in pixels, and the most labels of an axis."""
STEPS = 4
"""Labels above 0 on a vertical axis."""

Known = Sequence[tuple[int, TokenRun]]
"""The lengths at which a token was planned."""


def page(answer: DecodeAnswer) -> TablePage:
    """Every length, with charts of speed and memory."""
    known = [(each.tokens, each.token) for each in answer.lengths if each.token]
    drawn, memory = len(known) > 1, _memory(known)
    against = "against the length of the context."
    charts = (
        PageChart(
            "speed",
            "Tokens a second against the context",
            "Each mark is a plan that was made and simulated. The horizontal axis is logarithmic.",
            f"Tokens a second {against}",
            _speed(answer, known) if drawn else [],
        ),
        PageChart(
            "memory",
            "Memory against the context",
            f"The bytes that stay in the {size(answer.capacity)} of SharedMemory from token to token. The "
            "rest is for activations and for weights that pass through.",
            f"Bytes of weights and of the cache {against}",
            _charts(memory, "bytes", _bytes) if drawn else [],
            memory,
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
    return TablePage("decode", answer.model, on, told, tuple(_tiles(answer, known)), tables, charts)


def _tiles(answer: DecodeAnswer, known: Known) -> list[SummaryTile]:
    tiles: list[SummaryTile] = []
    for tokens, token in known[:: max(1, len(known) - 1)]:
        detail = f"{answer.milliseconds(token.further):,.3f} ms; {percent(token.run.gap)} above the bound"
        label = f"Tokens a second at {tokens:,}"
        tiles.append(SummaryTile(label, f"{answer.per_second(token):,.1f}", detail))
    for tokens, token in known[-1:]:
        share = ratio(token.resident_bytes, answer.weight_bytes)
        label = f"Weights that stay at {tokens:,}"
        tiles.append(SummaryTile(label, percent(share), f"of {size(answer.weight_bytes)}", share))
        share = ratio(token.cache_off_chip, token.cache)
        label = f"Cache in Psram at {tokens:,}"
        tiles.append(SummaryTile(label, percent(share), f"of {size(token.cache)}", share))
    return tiles


def _resident_row(tokens: int, token: TokenRun) -> tuple[str, str, str]:
    kept = ", ".join(f"{op} {size(kept)}" for op, kept in token.resident)
    return (f"{tokens:,}", size(token.loaded_weights), kept or "none: no plan that was tried is faster so")


def _speed(answer: DecodeAnswer, known: Known) -> list[SvgChart]:
    line = _line("tokens a second", "cascaded", known, answer.per_second, "{:,.1f} a second")
    return _charts((line,), "tokens/s", lambda value: f"{round(value, 2):,.10g}")


def _memory(known: Known) -> tuple[ChartLine, ...]:
    """Bytes of SharedMemory that weights and the cache take, and of the cache in Psram."""
    return (
        _line("weights that stay", "cascaded", known, lambda token: token.resident_bytes, "{:,} B"),
        _line("cache on chip", "alone", known, lambda token: token.cache - token.cache_off_chip, "{:,} B"),
        _line("cache in Psram", "slower", known, lambda token: token.cache_off_chip, "{:,} B"),
    )


def _bytes(value: float) -> str:
    return size(int(value)).replace(".00", "").replace(".0 ", " ")


def _line(name: str, kind: str, known: Known, value: Callable[[TokenRun], float], words: str) -> ChartLine:
    points: tuple[Point, ...] = tuple((tokens, value(token)) for tokens, token in known)
    marks = tuple(ChartMark(at, f"{name} at {at[0]:,}: {words.format(at[1])}") for at in points)
    return ChartLine(name, kind, marks, points)


def _charts(lines: tuple[ChartLine, ...], title: str, text: Callable[[float], str]) -> list[SvgChart]:
    lengths = [x for x, _ in lines[0].path]
    step = _round_step(max(y for line in lines for _, y in line.path) / STEPS, title == "bytes")
    y = ChartAxis(
        title, (0, step * STEPS), tuple((step * n, text(step * n)) for n in range(STEPS + 1)), False
    )
    found: list[SvgChart] = []
    for kind, width, height, most in SHAPES:
        labels = tuple((x, f"{x:,.0f}") for x in lengths[:: -(-len(lengths) // most)])
        x = ChartAxis("tokens of context", (lengths[0], lengths[-1]), labels)
        found.append(SvgChart(kind, width, height, x, y, lines))
    return found


def _round_step(least: float, binary: bool) -> float:
    """A round number of at least ``least``: of bytes 1, 2, 4 or 8 by a power of 1,024, or a half of one."""
    mantissas = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if binary else (1, 1.5, 2, 2.5, 3, 4, 5, 7.5)
    powers = (1024.0**n for n in range(6)) if binary else (10.0**n for n in range(-3, 9))
    return next(m * power for power in powers for m in mantissas if m * power >= least)
