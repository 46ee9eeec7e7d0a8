"""The ops of a result as a table: CSV or Parquet."""

from __future__ import annotations

from chipmodel.answers.op_totals import OpTotals
from chipmodel.files.csv_table import Cell, csv_text
from chipmodel.terminal.escapes import visible
from reports.export.parquet import parquet_bytes
from reports.result_file import SavedResult
from reports.words import CAUSES

TEXT_COLUMNS = ("op", "kind")
"""The columns of texts."""


def ops_csv(answer: SavedResult) -> str:
    """The ops of a run in linear order: work, cycles by cause, bytes. There is a column for each cause that
    the run has, and for the core where there are several."""
    return csv_text(*_ops(answer))


def ops_parquet(answer: SavedResult) -> bytes:
    """The table of ``ops_csv`` as Parquet. Raises BadInput where pyarrow is missing."""
    head, rows = _ops(answer)
    return parquet_bytes({name: "string" if name in TEXT_COLUMNS else "int64" for name in head}, rows)


def _ops(answer: SavedResult) -> tuple[list[str], list[list[Cell]]]:
    causes = [cause for cause in CAUSES if cause in answer.spent and cause != "finished"]
    causes += sorted(set(answer.spent) - {*causes, "compute", "finished"})
    many = answer.cores > 1
    head = ["op", "kind", *["core"] * many, "runs", "steps", "macs", "compute_cycles", "stall_cycles"]
    head += [f"{cause.replace(' ', '_')}_cycles" for cause in causes] + ["loaded_bytes", "stored_bytes"]
    return head, [_row(answer, op, causes, many) for op in answer.ops]


def _row(answer: SavedResult, op: OpTotals, causes: list[str], many: bool) -> list[Cell]:
    computed = op.spent.get("compute", 0)
    return [
        visible(op.name),
        op.kind,
        *([answer.core_of.get(op.name, 0)] if many else []),
        *(op.runs, op.steps, op.macs, computed, op.cycles - computed),
        *(op.spent.get(cause, 0) for cause in causes),
        *(op.loaded_bytes, op.stored_bytes),
    ]
