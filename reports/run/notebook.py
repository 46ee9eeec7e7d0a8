"""The text that a notebook shows of a run, beside its figure: the headline and the slowest ops."""

from __future__ import annotations

from chipmodel.answers.result import Result
from reports.run.totals import run_totals
from reports.template import printable_text, render_text
from reports.words import count

MOST_OPS = 8
"""Rows of the table."""


def notebook_html(result: Result, headline: str) -> str:
    """Return a part of a page, the same for the same result."""
    ops = sorted(run_totals(result).ops, key=lambda op: -op.compute_cycles - op.stall_cycles)
    values = {"headline": headline, "ops": ops[:MOST_OPS], "more": len(ops[MOST_OPS:])}
    return render_text("notebook.html.j2", values, {"count": count}, autoescape=True, finalize=printable_text)
