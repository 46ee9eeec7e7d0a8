"""What a notebook shows of a run: a sentence, the picture, and the ops that take longest."""

from __future__ import annotations

from base64 import b64encode

from chipmodel.answers.result import Result
from reports.run.picture import picture
from reports.run.totals import run_totals
from reports.template import render_part

MOST_BARS = 300
"""Bars and boxes of the picture, which is stored in the notebook."""
MOST_OPS = 8
"""Rows of the table."""


def notebook_html(result: Result, headline: str) -> str:
    """Return a part of a page, the same for the same result."""
    ops = sorted(run_totals(result).ops, key=lambda op: -op.compute_cycles - op.stall_cycles)
    values: dict[str, object] = {
        "headline": headline,
        "alt": f"{result.program.name} on {result.chip.name}: NPU, DMA engine, and SharedMemory over time",
        "picture": b64encode(picture(result, MOST_BARS).encode()).decode("ascii"),
        "ops": ops[:MOST_OPS],
        "more": len(ops[MOST_OPS:]),
    }
    return render_part("notebook.html.j2", values)
