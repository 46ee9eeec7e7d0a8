"""Faults in the arithmetic of columns of cascades in bands, and all faults for ``tests.fuzz``."""

from __future__ import annotations

from tests.support.cascade_faults import ROW_FAULTS, Mutation

BANDS = "chipmodel.cascades.bands"
COLUMNS = "chipmodel.cascades.columns"
STEPS = "dma.schedule.cascade_steps"
PSRAM = "dma.schedule.psram_layout"
WORK = "chipmodel.model.cascade_work"

_READ = "needed[maker[name]] = hull((needed[maker[name]], read or every))"
_STARTS = "band = Interval(start, min(of[-1], start + width))"
_WINDOW = "columns = op.work.window.input_columns(columns)"
_WIDEST = "size = held.bytes * max(map(len, columns)) // bands.of_columns[held.tensor]"
_OUTSIDE = "columns_read(program, op, operand, columns) or every"

COLUMN_FAULTS = (
    Mutation(
        "halo one column short at the end",
        BANDS,
        _READ,
        "read = read or every\n                "
        + _READ.replace("read or every", "Interval(read.start, max(read.start + 1, read.stop - 1))"),
    ),
    Mutation(
        "halo one column short at the start",
        BANDS,
        _READ,
        "read = read or every\n                "
        + _READ.replace("read or every", "Interval(min(read.start + 1, read.stop - 1), read.stop)"),
    ),
    Mutation(
        "columns of one reader alone",
        BANDS,
        _READ,
        "if not len(needed[maker[name]]):\n                    needed[maker[name]] = read or every",
    ),
    Mutation("bands one column too narrow", BANDS, _STARTS, _STARTS.replace("+ width)", "+ width - 1)")),
    Mutation("bands that overlap", BANDS, _STARTS, _STARTS.replace("(start,", "(max(0, start - 1),")),
    Mutation(
        "last columns that nobody needs left out",
        BANDS,
        "if band.stop == of[last]:",
        "if band.stop > of[last]:",
    ),
    Mutation(
        "columns between bands left out",
        BANDS,
        "needed[index] = Interval(min(needed[index].start, done[index]), needed[index].stop)",
        "pass",
    ),
    Mutation("buffer of the narrowest band", BANDS, _WIDEST, _WIDEST.replace("max(map", "min(map")),
    Mutation("buffer one byte short", BANDS, _WIDEST, f"{_WIDEST} - 1"),
    Mutation(
        "columns of the first band throughout",
        BANDS,
        "tuple(replace(step, band=bands[step.op]) for step in group)",
        "tuple(replace(step, band=self.made[0][step.op]) for step in group)",
    ),
    Mutation(
        "columns of the op before",
        BANDS,
        "replace(step, band=bands[step.op])",
        "replace(step, band=bands[max(0, step.op - 1)])",
    ),
    Mutation(
        "what is needed elsewhere in bands",
        BANDS,
        "if any(maker[name] < len(ops) - 1 for name in outputs):",
        "if False:",
    ),
    Mutation(
        "columns of an input one short",
        BANDS,
        _OUTSIDE,
        "(lambda c: Interval(c.start, max(c.start + 1, c.stop - 1)))" + f"({_OUTSIDE})",
    ),
    Mutation("columns read without the window", COLUMNS, _WINDOW, "pass"),
    Mutation(
        "columns by the rows of a window",
        COLUMNS,
        _WINDOW,
        "columns = op.work.window.input_rows(columns)",
    ),
    Mutation(
        "ring of another band", STEPS, "held.columns[band])", "held.columns[(band + 1) % len(held.columns)])"
    ),
    Mutation("ring of the columns that are read", STEPS, "if held.columns:", "if False:"),
    Mutation(
        "rows of a buffer counted as whole ones",
        STEPS,
        "size = held.band_bytes(self.maker.program.tensors[name].bytes)",
        "size = self.maker.program.tensors[name].bytes",
    ),
    Mutation(
        "runs at the pitch of rows",
        PSRAM,
        "part.share.of_channels if part.share.banded else 1",
        "1",
    ),
    Mutation(
        "parts from the first column on",
        PSRAM,
        "before * share.of_columns + share.columns.start",
        "before * share.of_columns",
    ),
    Mutation("the wrong band of a group", WORK, "return group * self.bands // len(self.groups)", "return 0"),
)

MUTATIONS = (*ROW_FAULTS, *COLUMN_FAULTS)
