"""For each run of an op, how much of others must come before its first step, and how much must come after its
last one, in any plan with cascades.

A *part* of an op is some rows by some channels by some columns, at least one of each. All counts hold for
every part that may be the first to be computed, and for every part that may be the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from chipmodel.bounds.row_needs import ALL, NONE, OperandRows, RowCount, operand_rows
from chipmodel.cascades.columns import columns_read, op_columns, tensor_columns
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.program import Op, Program


@dataclass(frozen=True, slots=True)
class OperandColumns:
    """The columns of an operand that an op reads."""

    apart: bool = False
    """Whether a part of the op's columns reads only a part of the operand's."""
    skipped: bool = False
    """Whether there are columns of the operand that no column of the op needs."""


@dataclass(frozen=True, slots=True)
class OperandLink:
    """Run ``reader`` reads what run ``maker`` makes, or the program input ``name`` where that is None."""

    reader: int
    maker: int | None
    name: str
    rows: OperandRows
    joins: bool = False
    """Whether the reader is a concat whose inputs may lie in place in its output. Then some of its channels
    may lie in a single input, and no step of its own is needed."""
    columns: OperandColumns = OperandColumns()

    @property
    def divided(self) -> bool:
        """Whether some channels or columns of the reader may need only some of the maker's, or none."""
        return self.joins or self.rows.channels_apart or self.columns.apart


@dataclass(frozen=True, slots=True)
class PartRows:
    """Rows of which some channel in some column is meant, rows of which all channels and columns are, and
    rows of which all channels are in some column."""

    some: RowCount
    full: RowCount
    deep: RowCount

    @property
    def empty(self) -> bool:
        return self.some.count == 0

    def touched(self, of: int) -> int:
        """The rows, of ``of`` equal rows of the tensor, that hold any byte that is meant, at least."""
        if self.some.of >= of:
            return self.some.touched(of)
        # Some channel of a row may lie in a single one of finer rows.
        return max(min(1, self.some.count), self.full.complete(of))


NOTHING = PartRows(NONE, NONE, NONE)


def either(a: PartRows, b: PartRows) -> PartRows:
    """What is sure where both are."""
    return PartRows(max(a.some, b.some), max(a.full, b.full), max(a.deep, b.deep))


@dataclass
class OpRuns:
    """Runs of ops along a path, and which reads what."""

    program: Program
    ops: Sequence[Op]
    links: list[list[OperandLink]] = field(init=False)
    """The operands, for each reader."""
    readers: list[list[OperandLink]] = field(init=False)
    """The readers, for each maker."""

    def __post_init__(self) -> None:
        self.links = [[] for _ in self.ops]
        self.readers = [[] for _ in self.ops]
        made: dict[str, int] = {}
        known: dict[tuple[str, int], tuple[OperandRows | None, OperandColumns]] = {}
        inputs = frozenset(self.program.inputs)
        for index, op in enumerate(self.ops):
            for operand, name in enumerate(op.inputs):
                key = op.name, operand
                if key not in known:
                    known[key] = operand_rows(op, operand), operand_columns(self.program, op, operand)
                rows, columns = known[key]
                if rows is None or not (name in made or name in inputs):
                    continue
                link = OperandLink(index, made.get(name), name, rows, bool(op.absorbs), columns)
                self.links[index].append(link)
                if link.maker is not None:
                    self.readers[link.maker].append(link)
            made |= dict.fromkeys(op.outputs, index)

    def whole_rows(self, index: int) -> bool:
        """Whether every part of a run's op makes whole rows."""
        op = self.ops[index]
        return op.work.channels == 1 and op_columns(self.program, op) is None

    def part_of(self, index: int) -> PartRows:
        """The smallest part of a run's op."""
        work = self.ops[index].work
        row, none = RowCount(1, work.rows), RowCount(0, work.rows)
        return PartRows(row, row if self.whole_rows(index) else none, row if work.channels == 1 else none)

    def before(self, index: int) -> tuple[dict[int, PartRows], dict[str, PartRows]]:
        """What must be made of each run's output before any part of run ``index`` starts, by run; and what
        must be loaded of each program input by the time it ends, by name."""
        made, loaded = {index: self.part_of(index)}, dict[str, PartRows]()
        for reader in range(index, -1, -1):
            if reader not in made:
                continue
            for link in self.links[reader]:
                read = _read(link, made[reader])
                if link.joins:
                    full = read.full if made[reader].full.count else NONE
                    deep = max(full, read.deep if made[reader].deep.count else NONE)
                    read = PartRows(deep, full, deep)
                if link.maker is None:
                    loaded[link.name] = either(loaded.get(link.name, NOTHING), read)
                elif not read.empty:
                    made[link.maker] = either(made.get(link.maker, NOTHING), read)
        del made[index]
        return made, loaded

    def after(self, index: int) -> dict[int, PartRows]:
        """What of each run's output is made only after the last part of run ``index``, by run."""
        late = {index: self.part_of(index)}
        for maker in range(index, len(self.ops)):
            if maker not in late:
                continue
            for link in self.readers[maker]:
                part = _dependent(link, late[maker])
                if link.joins:
                    part = PartRows(part.some, NONE, NONE)
                if not part.empty:
                    late[link.reader] = either(late.get(link.reader, NOTHING), part)
        del late[index]
        return late

    def first_after(self, index: int) -> Mapping[int, tuple[RowCount | None, RowCount | None]]:
        """For each run, how many neighbouring rows of its output need all that run ``index`` makes: with any
        one channel, and with all channels; None where no number does."""
        found: dict[int, tuple[RowCount | None, RowCount | None]] = {index: (None, ALL)}
        for maker in range(index, len(self.ops)):
            if maker not in found:
                continue
            whole = found[maker][1]
            if whole is None:
                continue
            for link in self.readers[maker]:
                needed = _rows_that_need(link.rows, whole)
                if needed is None:
                    continue
                some, full = found.get(link.reader, (None, None))
                if not link.divided:
                    some = needed if some is None else min(some, needed)
                full = needed if full is None else min(full, needed)
                found[link.reader] = some, full
        del found[index]
        return found

    def descendants(self, index: int) -> Iterator[int]:
        """Runs of which every part needs some of run ``index``, and itself."""
        parts, deep, rows = {index}, {index}, {index}
        yield index
        for reader in range(index + 1, len(self.ops)):
            links = self.links[reader]
            # What complete rows need, every part of an op needs that reads all channels and columns.
            if any(link.maker in self._needed_by_parts(link, parts, deep, rows) for link in links):
                parts.add(reader)
                yield reader
            in_column = (link.maker in (deep if link.columns.apart else rows) for link in links)
            if reader in parts or any(in_column):
                deep.add(reader)
            if reader in parts or any(link.maker in rows for link in links):
                rows.add(reader)

    def _needed_by_parts(
        self, link: OperandLink, parts: set[int], deep: set[int], rows: set[int]
    ) -> set[int]:
        """Those of three sets of makers of which every part of the reader surely needs enough."""
        if link.joins:
            return set()
        if link.rows.channels_apart:
            return parts
        return deep if link.columns.apart else rows

    def completed(self, index: int) -> Iterator[int]:
        """Runs whose every row is needed by run ``index``, so that they end before it does, and itself."""
        found = {index}
        yield index
        for maker in range(index - 1, -1, -1):
            if any(link.reader in found and _reads_all(link) for link in self.readers[maker]):
                found.add(maker)
                yield maker


def _reads_all(link: OperandLink) -> bool:
    return not link.columns.skipped and (not link.rows.listed or link.rows.readers_of(1) > 0)


def _read(link: OperandLink, part: PartRows) -> PartRows:
    """What a part of an op reads of an operand."""
    rows, known = link.rows, _LinkEnd(link, part)
    if rows.whole:
        return PartRows(ALL, *(ALL if known.any(level) else NONE for level in LEVELS))
    if not rows.listed:
        return known.at_the_same_rows(RowCount(part.touched(rows.rows), rows.rows))

    def read_by(count: int) -> RowCount:
        # Rows that are no neighbours count as one.
        count = min(1, count) if rows.gaps else count
        return RowCount(rows.read_by(count), rows.of) if count else NONE

    some = 1 if rows.gaps else part.touched(rows.rows)
    levels = (
        read_by(some if source is None else source.complete(rows.rows))
        for source in map(known.source, LEVELS)
    )
    return PartRows(RowCount(rows.read_by(some), rows.of), *levels)


def _dependent(link: OperandLink, late: PartRows) -> PartRows:
    """What a reader makes only after ``late`` of its operand."""
    rows, known = link.rows, _LinkEnd(link, late)
    if rows.whole:
        return PartRows(ALL, *(ALL if known.any(level) else NONE for level in LEVELS))
    if not rows.listed:
        return known.at_the_same_rows(RowCount(late.touched(rows.of), rows.of))

    def readers_of(count: int) -> RowCount:
        return RowCount(rows.readers_of(count), rows.rows) if count else NONE

    some = late.touched(rows.of)
    levels = (
        readers_of(some if source is None else source.complete(rows.of))
        for source in map(known.source, LEVELS)
    )
    return PartRows(RowCount(rows.readers_of(some), rows.rows), *levels)


Level = Literal["full", "deep"]
LEVELS: tuple[Level, Level] = ("full", "deep")
"""Rows with all channels and columns, and rows with all channels in some column."""


@dataclass(frozen=True, slots=True)
class _LinkEnd:
    """Which rows of one end of a link say what holds of all channels, or of all columns too, of the other."""

    link: OperandLink
    part: PartRows

    def source(self, level: Level) -> RowCount | None:
        """The rows, as far as they are not those of which anything is meant (None)."""
        channels, columns = self.link.rows.channels_apart, self.link.columns.apart and level == "full"
        if columns:
            return self.part.full
        return self.part.deep if channels else None

    def at_the_same_rows(self, touched: RowCount) -> PartRows:
        """Where row ``y`` reads row ``y``; ``touched`` are those of which anything is meant."""
        full, deep = (touched if source is None else source for source in map(self.source, LEVELS))
        full, deep = max(self.part.full, full), max(self.part.deep, deep)
        return PartRows(max(self.part.some, full, deep), full, deep)

    def any(self, level: Level) -> bool:
        """Whether there is such a row."""
        found = self.source(level)
        return found is None or found.count > 0


def operand_columns(program: Program, op: Op, operand: int) -> OperandColumns:
    """Which columns of an operand the columns of an op read."""
    columns = op_columns(program, op)
    if columns is None:
        return OperandColumns()
    read = [columns_read(program, op, operand, Interval(at, at + 1)) for at in range(columns)]
    some = [each for each in read if each is not None]
    every = Interval(0, tensor_columns(program, op.inputs[operand]))
    return OperandColumns(bool(some), bool(some) and merged(some) != (every,))


def _rows_that_need(rows: OperandRows, needed: RowCount) -> RowCount | None:
    """How many neighbouring rows of a reader read at least ``needed``."""
    if rows.whole:
        return RowCount(1, rows.rows)
    if not rows.listed:
        return needed
    count = rows.rows_that_read(needed.enough(rows.of))
    return None if count is None else RowCount(count, rows.rows)
