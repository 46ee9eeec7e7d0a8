"""Two results on one self-contained page: what changed between them, and why."""

from __future__ import annotations

from reports.diff.difference import RunDifference
from reports.diff.strips import strips
from reports.diff.words import (
    cause_rows,
    op_row,
    sentences,
    setting_rows,
    signed,
    total_rows,
)
from reports.page_parts import PageChart, PageTable, TablePage

SHOWN_OPS = 12
"""Rows of the table of ops on the terminal."""


def page(diff: RunDifference) -> TablePage:
    """Both runs above each other, what differs and why."""
    a, b = diff.a, diff.b
    on = f"on {a.settings['chip']}"
    if any(a.settings[key] != b.settings[key] for key in ("workload", "chip")):
        on += f", and {b.settings['workload']} on {b.settings['chip']}"
    tables = (
        PageTable("settings", "Settings that differ", ("setting", "A", "B"), setting_rows(diff)),
        *(() if diff.same else _changes(diff)),
    )
    told = (f"A: {a.file}. B: {b.file}.", *sentences(diff))
    return TablePage("diff", a.settings["workload"], on, told, tables, (_chart(diff),))


def _chart(diff: RunDifference) -> PageChart:
    bands = (
        " The bands between the runs are the ops that changed most: point at one for its name."
        if diff.a.cores == diff.b.cores == 1
        else ""
    )
    return PageChart(
        "strips",
        "Both runs",
        "The ops of A above those of B, at one scale of time. A low bar is a wait; its colour says what for. "
        f"Ops of a loop or cascade are added up at their first run.{bands} Point at a bar for its cycles.",
        strips(diff),
    )


def _changes(diff: RunDifference) -> tuple[PageTable, ...]:
    remark = f"{signed(diff.rest)} cycles belong to no op." if diff.rest else ""
    return (
        PageTable(
            "causes",
            "Why",
            ("cause", ">change", ">cycles so far"),
            list(cause_rows(diff)),
            "From the cycles of A to those of B; the parts add up to the difference exactly.",
        ),
        PageTable(
            "totals",
            "Totals that changed",
            ("total", ">A", ">B", ">change", ">of A", "unit"),
            total_rows(diff),
        ),
        PageTable(
            "ops",
            "Ops that changed",
            ("op", ">cycles", "mainly", ">loaded B", ">stored B"),
            list(map(op_row, diff.ops)),
            "The largest changes first.",
            remark=remark,
            most=SHOWN_OPS,
        ),
    )
