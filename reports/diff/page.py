"""Two results on one self-contained page without scripts: what changed between them, and why."""

from __future__ import annotations

from reports.colours import CAUSE_COLOURS, GREY
from reports.diff.difference import RunDifference
from reports.diff.strips import strips
from reports.diff.words import (
    cause_rows,
    doing,
    op_row,
    sentences,
    setting_rows,
    signed,
    time_words,
    total_rows,
)
from reports.page_parts import SummaryTile
from reports.template import PLAIN, render
from reports.words import CAUSES, percent, plural, ratio, size

MOST_OPS = 50
"""Rows of the table of ops."""
WIDE, NARROW = 1190, 370
"""Pixels of the chart."""


def render_diff(diff: RunDifference) -> str:
    """The page as text."""
    left_out = diff.ops[MOST_OPS:]
    largest = max((abs(part.cycles) for part in diff.causes), default=0)
    values: dict[str, object] = {
        "a": diff.a,
        "b": diff.b,
        "sentences": sentences(diff),
        "same": diff.same,
        "tiles": _tiles(diff),
        "charts": [strips(diff, "wide", WIDE), strips(diff, "narrow", NARROW)],
        "followed": diff.a.cores == diff.b.cores == 1,
        "legend": _legend(diff),
        "settings": setting_rows(diff),
        "totals": total_rows(diff),
        "causes": list(zip(cause_rows(diff), _shares(diff, largest), strict=True)),
        "ops": [op_row(op) for op in diff.ops[:MOST_OPS]],
        "rest": signed(diff.rest) if diff.rest else "",
        "left_out": f"{plural(len(left_out), 'more op')}, together "
        f"{signed(sum(op.cycles for op in left_out))} cycles"
        if left_out
        else "",
    }
    return render("diff.html.j2", values, PLAIN)


def _tiles(diff: RunDifference) -> list[SummaryTile]:
    a, b = diff.a, diff.b
    moved = [sum(getattr(total, side) for total in diff.moved) for side in ("a", "b")]
    peaks = [run.totals["peak_bytes"] for run in (a, b)]
    change = percent(ratio(float(abs(diff.milliseconds)), float(a.milliseconds)))
    word = "slower" if diff.milliseconds > 0 else "faster"
    return [
        SummaryTile("Time of A", time_words(a.milliseconds), _clock(diff, "a")),
        SummaryTile("Time of B", time_words(b.milliseconds), _clock(diff, "b")),
        SummaryTile("B is", f"{change} {word}" if diff.milliseconds else "as fast", ""),
        SummaryTile("Peak", f"{size(peaks[1])}", f"A: {size(peaks[0])}"),
        SummaryTile("Off-chip traffic", f"{size(moved[1])}", f"A: {size(moved[0])}"),
    ]


def _clock(diff: RunDifference, side: str) -> str:
    run = diff.a if side == "a" else diff.b
    return f"{run.cycles:,} cycles at {float(run.core_mhz):g} MHz"


def _legend(diff: RunDifference) -> list[tuple[str, str]]:
    """What the colours of the chart mean: word and colour of each cause that an op of a run has."""
    found = {cause for run in (diff.a, diff.b) for op in run.ops for cause, n in op.spent.items() if n}
    listed = [cause for cause in ("compute", *CAUSES) if cause in found]
    return [(doing(cause), CAUSE_COLOURS.get(cause, GREY)) for cause in listed]


def _shares(diff: RunDifference, largest: int) -> list[tuple[float, str]]:
    """For each row of causes, the length of its bar and its colour; none for the rows of A and B."""
    bars = [(ratio(abs(part.cycles), largest), CAUSE_COLOURS.get(part.cause, GREY)) for part in diff.causes]
    return [(0.0, ""), *bars, (0.0, "")]
