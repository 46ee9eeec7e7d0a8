"""Tables: the buffers of a plan in MiniMalloc's columns as CSV, the ops of a result as CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from chipmodel.answers.op_totals import OpTotals
from chipmodel.plan_file.contents import PlannedBuffer
from chipmodel.terminal.escapes import cell_text, visible
from reports.export.layout import Layout
from reports.export.parquet import parquet_bytes
from reports.result_file import SavedResult
from reports.words import CAUSES

TEXT_COLUMNS = ("op", "kind")
"""The columns of texts."""


def minimalloc_csv(layout: Layout) -> str:
    """The buffers with their lifetimes ``[lower, upper)`` and offsets, as MiniMalloc and ``chipmodel pack``
    read them, with columns ``alignment``, ``gaps`` and ``colocate`` if the plan has any."""
    aligned, holes = layout.alignment > 1, any(len(b.live) > 1 for b in layout.buffers)
    head = ["id", "lower", "upper", "size"]
    nested = {b.within for b in layout.buffers} - {""}
    head += ["alignment"] * aligned + ["gaps"] * holes + ["colocate"] * bool(nested) + ["offset"]
    rows: list[Sequence[object]] = []
    for buffer in layout.buffers:
        lower, upper = _life(buffer)
        extra: list[object] = [*[layout.alignment] * aligned, *[_gaps(buffer)] * holes]
        if nested:
            extra.append(buffer.within or buffer.name * (buffer.name in nested))
        rows.append([buffer.name, lower, upper, buffer.bytes, *extra, buffer.offset])
    return _text(head, rows)


def _life(buffer: PlannedBuffer) -> tuple[int, int]:
    return (buffer.live[0].start, buffer.live[-1].stop) if buffer.live else (0, 0)


def _gaps(buffer: PlannedBuffer) -> str:
    pairs = zip(buffer.live, buffer.live[1:], strict=False)
    return " ".join(f"{before.stop}-{after.start}" for before, after in pairs)


def ops_csv(answer: SavedResult) -> str:
    """The ops of a run in linear order: work, cycles by cause, bytes. There is a column for each cause that
    the run has, and for the core where there are several."""
    return _text(*_ops(answer))


def ops_parquet(answer: SavedResult) -> bytes:
    """The table of ``ops_csv`` as Parquet. Raises BadInput where pyarrow is missing."""
    head, rows = _ops(answer)
    return parquet_bytes({name: "string" if name in TEXT_COLUMNS else "int64" for name in head}, rows)


def _ops(answer: SavedResult) -> tuple[list[str], list[list[object]]]:
    causes = [cause for cause in CAUSES if cause in answer.spent and cause != "finished"]
    causes += sorted(set(answer.spent) - {*causes, "compute", "finished"})
    many = answer.cores > 1
    head = [
        "op",
        "kind",
        *(["core"] if many else []),
        "runs",
        "steps",
        "macs",
        "compute_cycles",
        "stall_cycles",
    ]
    head += [f"{cause.replace(' ', '_')}_cycles" for cause in causes] + ["loaded_bytes", "stored_bytes"]
    return head, [_row(answer, op, causes, many) for op in answer.ops]


def _row(answer: SavedResult, op: OpTotals, causes: list[str], many: bool) -> list[object]:
    computed = op.spent.get("compute", 0)
    return [
        op.name,
        op.kind,
        *([answer.core_of.get(op.name, 0)] if many else []),
        *(op.runs, op.steps, op.macs, computed, op.cycles - computed),
        *(op.spent.get(cause, 0) for cause in causes),
        *(op.loaded_bytes, op.stored_bytes),
    ]


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(
        [cell_text(visible(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return out.getvalue()
