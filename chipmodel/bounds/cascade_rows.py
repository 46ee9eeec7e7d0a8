"""For each run of an op, how much of others must come before its first step, and how much must come after its
last one, in any plan with cascades.

A *part* of an op is some rows by some channels, at least one of each. All counts hold for every part that may
be the first to be computed, and for every part that may be the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chipmodel.bounds.row_needs import ALL, NONE, OperandRows, RowCount, operand_rows
from chipmodel.model.program import Op, Program


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

    @property
    def by_channel(self) -> bool:
        """Whether some channels of the reader may need only some of the maker's, or none."""
        return self.joins or self.rows.channels_apart


@dataclass(frozen=True, slots=True)
class PartRows:
    """Rows of which some channel is meant, and rows of which all channels are."""

    some: RowCount
    full: RowCount

    @property
    def empty(self) -> bool:
        return self.some.count == 0

    def touched(self, of: int) -> int:
        """Of ``of`` equal rows of the tensor, those with any byte that is meant, at least."""
        if self.some.of >= of:
            return self.some.touched(of)
        # Some channel of a row may lie in a single one of finer rows.
        return max(min(1, self.some.count), self.full.complete(of))


NOTHING = PartRows(NONE, NONE)


def either(a: PartRows, b: PartRows) -> PartRows:
    """What is sure where both are."""
    return PartRows(max(a.some, b.some), max(a.full, b.full))


@dataclass
class OpRuns:
    """Runs of ops along a path, and which reads what."""

    program: Program
    ops: Sequence[Op]
    links: list[list[OperandLink]] = field(init=False)
    """By reader."""
    readers: list[list[OperandLink]] = field(init=False)
    """By maker."""

    def __post_init__(self) -> None:
        self.links = [[] for _ in self.ops]
        self.readers = [[] for _ in self.ops]
        made: dict[str, int] = {}
        known: dict[tuple[str, int], OperandRows | None] = {}
        inputs = frozenset(self.program.inputs)
        for index, op in enumerate(self.ops):
            for operand, name in enumerate(op.inputs):
                key = op.name, operand
                if key not in known:
                    known[key] = operand_rows(op, operand)
                rows = known[key]
                if rows is None or not (name in made or name in inputs):
                    continue
                link = OperandLink(index, made.get(name), name, rows, bool(op.absorbs))
                self.links[index].append(link)
                if link.maker is not None:
                    self.readers[link.maker].append(link)
            made |= dict.fromkeys(op.outputs, index)

    def part_of(self, index: int) -> PartRows:
        """The smallest part of a run's op."""
        work = self.ops[index].work
        row = RowCount(1, work.rows)
        return PartRows(row, row if work.channels == 1 else RowCount(0, work.rows))

    def before(self, index: int) -> tuple[dict[int, PartRows], dict[str, PartRows]]:
        """What must be made of each run's output before any part of run ``index`` starts, by run; and what
        must be loaded of each program input by the time it ends, by name."""
        made, loaded = {index: self.part_of(index)}, dict[str, PartRows]()
        for reader in range(index, -1, -1):
            if reader not in made:
                continue
            for link in self.links[reader]:
                read = _read(link.rows, made[reader])
                if link.joins:
                    read = PartRows(read.full, read.full) if made[reader].full.count else NOTHING
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
                part = _dependent(link.rows, late[maker])
                if link.joins:
                    part = PartRows(part.some, NONE)
                if not part.empty:
                    late[link.reader] = either(late.get(link.reader, NOTHING), part)
        del late[index]
        return late

    def first_after(self, index: int) -> Mapping[int, tuple[RowCount | None, RowCount | None]]:
        """By run, how many neighbouring rows of its output need all that run ``index`` makes: with any one
        channel, and with all channels; None where no number does."""
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
                if not link.by_channel:
                    some = needed if some is None else min(some, needed)
                full = needed if full is None else min(full, needed)
                found[link.reader] = some, full
        del found[index]
        return found

    def descendants(self, index: int) -> Iterator[int]:
        """Runs of which every part needs some of run ``index``, and itself."""
        parts, rows = {index}, {index}
        yield index
        for reader in range(index + 1, len(self.ops)):
            links = self.links[reader]
            # What complete rows need, every part of an op needs that reads all channels.
            if any(link.maker in (parts if link.by_channel else rows) and not link.joins for link in links):
                parts.add(reader)
                yield reader
            if reader in parts or any(link.maker in rows for link in links):
                rows.add(reader)

    def completed(self, index: int) -> Iterator[int]:
        """Runs whose every row is needed by run ``index``, so that they end before it does, and itself."""
        found = {index}
        yield index
        for maker in range(index - 1, -1, -1):
            if any(link.reader in found and _reads_all(link.rows) for link in self.readers[maker]):
                found.add(maker)
                yield maker


def _reads_all(rows: OperandRows) -> bool:
    return not rows.listed or rows.readers_of(1) > 0


def _read(rows: OperandRows, part: PartRows) -> PartRows:
    """What a part of an op reads of an operand."""
    if rows.whole:
        return PartRows(ALL, ALL if not rows.channels_apart or part.full.count else NONE)
    if not rows.listed:
        if rows.channels_apart:
            return part
        touched = RowCount(part.touched(rows.rows), rows.rows)
        return PartRows(max(part.some, touched), max(part.full, touched))
    some, full = part.touched(rows.rows), part.full.complete(rows.rows)
    if rows.gaps:
        # Rows that are no neighbours count as one.
        some, full = 1, min(1, full)
    read = RowCount(rows.read_by(some), rows.of)
    if not rows.channels_apart:
        return PartRows(read, read)
    return PartRows(read, RowCount(rows.read_by(full), rows.of) if full else NONE)


def _dependent(rows: OperandRows, late: PartRows) -> PartRows:
    """What a reader makes only after ``late`` of its operand."""
    if rows.whole:
        return PartRows(ALL, ALL if not rows.channels_apart or late.full.count else NONE)
    full = late.full.complete(rows.of)
    if not rows.listed:
        touched = RowCount(late.touched(rows.of), rows.of)
        return late if rows.channels_apart else PartRows(max(late.some, touched), max(late.full, touched))
    part = RowCount(rows.readers_of(late.touched(rows.of)), rows.rows)
    if not rows.channels_apart:
        return PartRows(part, part)
    return PartRows(part, RowCount(rows.readers_of(full), rows.rows) if full else NONE)


def _rows_that_need(rows: OperandRows, needed: RowCount) -> RowCount | None:
    """How many neighbouring rows of a reader read at least ``needed``."""
    if rows.whole:
        return RowCount(1, rows.rows)
    if not rows.listed:
        return needed
    count = rows.rows_that_read(needed.enough(rows.of))
    return None if count is None else RowCount(count, rows.rows)
