"""Bands of columns of a cascade: the columns of each of its ops that a band of the last op's output needs.

Within a band the cascade's ops run as if their tensors had only those columns. Columns that two bands need
are computed for each of them, as patches are in MCUNetV2 (Lin et al. 2021). See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chipmodel.cascades.columns import columns_read, op_columns, tensor_columns
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.cascade_work import Band, CascadeStep, CascadeWork, ColumnsInTurn, HeldRows, RowsInTurn
from chipmodel.model.program import Op, Program
from chipmodel.records import dataclass

Groups = tuple[tuple[CascadeStep, ...], ...]


@dataclass(frozen=True, slots=True)
class ColumnBands:
    """For each band the columns of every op's output, and of the tensors that the cascade reads."""

    made: tuple[tuple[Band | None, ...], ...]
    """Columns for each band and op; None for all columns."""
    read: tuple[Mapping[str, Interval], ...]
    """Columns for each band and tensor from outside."""
    of_columns: Mapping[str, int]
    """Columns of each tensor from outside or made here."""
    of_channels: Mapping[str, int]

    def groups(self, groups: Groups) -> Groups:
        """``groups`` of steps, once for each band."""
        return tuple(
            tuple(CascadeStep(step.op, step.rows, bands[step.op]) for step in group)
            for bands in self.made
            for group in groups
        )

    def turns(self, name: str, columns: Iterable[Interval], groups: int) -> ColumnsInTurn:
        """The ``columns`` of a tensor by band, for each of ``groups`` groups of a band."""
        of_group = tuple(column for column in columns for _ in range(groups))
        return ColumnsInTurn(self.of_channels[name], self.of_columns[name], of_group)

    def columns(self, name: str, op: int) -> tuple[Interval, ...]:
        """The columns of the tensor ``name``, which op number ``op`` makes, by band."""
        every = Interval(0, self.of_columns[name])
        made = (bands[op] for bands in self.made)
        return tuple(every if band is None else band.columns for band in made)


def work_in_bands(
    program: Program,
    ops: Sequence[Op],
    inputs: Sequence[str],
    outputs: Sequence[str],
    work: CascadeWork,
    count: int,
) -> CascadeWork:
    """``work`` of the cascade ``ops`` once for each of ``count`` bands of columns of the last op's output.

    Bands are as wide as each other but for the last one. Raises ValueError where an op cannot make some of
    its columns, or what an inner op makes is needed elsewhere.
    """
    maker = {name: index for index, op in enumerate(ops) for name in op.outputs}
    if any(maker[name] < len(ops) - 1 for name in outputs):
        raise ValueError("a tensor inside is needed elsewhere, and its columns are computed more than once")
    bands, each = column_bands(program, ops, maker, inputs, count), len(work.groups)

    def turns(rows: RowsInTurn, name: str, columns: Sequence[Interval]) -> RowsInTurn:
        return RowsInTurn(rows.of_rows, rows.of_group * count, bands.turns(name, columns, each))

    def in_widest(held: HeldRows) -> HeldRows:
        columns = bands.columns(held.tensor, maker[held.tensor])
        size = held.bytes * max(map(len, columns)) // bands.of_columns[held.tensor]
        return replace(held, bytes=size, columns=columns)

    read = zip(inputs, work.reads, strict=True)
    made = zip(outputs, work.makes, strict=True)
    return replace(
        work,
        groups=bands.groups(work.groups),
        reads=tuple(turns(rows, name, [columns[name] for columns in bands.read]) for name, rows in read),
        makes=tuple(turns(rows, name, bands.columns(name, maker[name])) for name, rows in made),
        held=tuple(in_widest(held) for held in work.held),
        bands=count,
    )


def column_bands(
    program: Program, ops: Sequence[Op], maker: Mapping[str, int], inputs: Sequence[str], count: int
) -> ColumnBands:
    """``count`` bands of columns; ``maker`` is, by tensor, the index of the op that makes it. Raises
    ValueError where an op cannot make some of its columns."""
    totals = [op_columns(program, op) for op in ops]
    for op, total in zip(ops, totals, strict=True):
        if total is None:
            raise ValueError(f"{op.name!r} cannot run in bands of columns")
    of = [total or 1 for total in totals]
    width = -(-of[-1] // count)
    starts = range(0, of[-1], width)
    if len(starts) != count:
        raise ValueError(f"{of[-1]} columns are not {count} bands of equal width")
    made: list[tuple[Band | None, ...]] = []
    read: list[dict[str, Interval]] = []
    done = [0] * len(ops)
    for start in starts:
        band = Interval(start, min(of[-1], start + width))
        needed = _needed(program, ops, maker, of, band, done)
        done = [max(before, each.stop) for before, each in zip(done, needed, strict=True)]
        made.append(tuple(_band(each, total) for each, total in zip(needed, of, strict=True)))
        read.append({name: _read(program, ops, name, needed) for name in inputs})
    names = (*inputs, *maker)
    grids = {name: program.tensors[name].stored.grid for name in names}
    return ColumnBands(
        tuple(made),
        tuple(read),
        {name: grid[2] for name, grid in grids.items()},
        {name: grid[1] for name, grid in grids.items()},
    )


def _band(columns: Interval, of: int) -> Band | None:
    return None if len(columns) == of else Band(columns, of)


def _needed(
    program: Program,
    ops: Sequence[Op],
    maker: Mapping[str, int],
    of: Sequence[int],
    band: Interval,
    done: Sequence[int],
) -> list[Interval]:
    """For each op, the columns that a ``band`` of the last one needs, and those not needed before."""
    last = len(ops) - 1
    needed = [Interval(0, 0)] * last + [band]
    for index in range(last, -1, -1):
        if band.stop == of[last]:
            needed[index] = hull((needed[index], Interval(done[index], of[index])))
        if not len(needed[index]):
            raise ValueError(f"{ops[index].name!r} makes no column that a band needs")
        needed[index] = Interval(min(needed[index].start, done[index]), needed[index].stop)
        for operand, name in enumerate(ops[index].inputs):
            if name in maker:
                read = columns_read(program, ops[index], operand, needed[index])
                every = Interval(0, tensor_columns(program, name))
                needed[maker[name]] = hull((needed[maker[name]], read or every))
    return needed


def _read(program: Program, ops: Sequence[Op], name: str, needed: Sequence[Interval]) -> Interval:
    """The columns of a tensor from outside that any op reads for the columns ``needed`` of it."""
    every = Interval(0, tensor_columns(program, name))
    return hull(
        columns_read(program, op, operand, columns) or every
        for op, columns in zip(ops, needed, strict=True)
        for operand, read in enumerate(op.inputs)
        if read == name
    )
