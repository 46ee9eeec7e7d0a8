"""Read and write packing problems as CSV: MiniMalloc's columns, and additional ones for constraints.

``id,lower,upper,size`` are required, in any order; a lifetime is ``[lower, upper)``. As in MiniMalloc's own
reader (google/minimalloc, src/converter.cc), ``buffer`` and ``buffer_id`` mean ``id``, ``begin`` and
``start`` mean ``lower``, and ``end`` is the last position of a lifetime, not the one after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_lines import CsvLine, csv_line, read_lines
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown, suggest
from chipmodel.files.text_file import read_text
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.plan import Buffer, Memory, PackingTable, Plan, Problem
from chipmodel.terminal.escapes import cell_text
from solvers.core.deadline import NO_DEADLINE, Deadline

REQUIRED = ("id", "lower", "upper", "size")
OPTIONAL = {
    "alignment": "the offset is a multiple of this",
    "gaps": "parts of the lifetime in which the buffer is not alive: 10-20 35-40",
    "hint": "offset in an earlier plan, to start from",
    "pinned": "the required offset",
    "memories": "names of the --memory that may hold the buffer: a;b",
    "colocate": "a label: buffers with the same label get the same offset and may overlap",
    "separate": "ids of buffers that never share a byte with this one: a;b",
    "apart": "ids of buffers that are not in the same memory as this one: a;b",
    "offset": "as hint; the column that --output writes",
}
SYNONYMS = {"buffer": "id", "buffer_id": "id", "begin": "lower", "start": "lower", "end": "upper"}
MAX_ROWS = 250_000
"""Buffers of a problem, and parts of all lifetimes, which gaps separate. Measured: to read, pack and check
200,000 takes 12 s."""
MAX_VALUE = 1 << 61
"""The largest number, and the largest sum of sizes: then all sums and differences fit in 64 bits."""

READING = "all buffers were read"

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_GAP = re.compile(r"([+-]?[0-9]{1,19})-([+-]?[0-9]{1,19})", re.ASCII)
_HINT_NUMBER = "write digits only, without a unit or a fraction"
_MISSPELLING_RATIO = 0.75
"""An unknown column as similar as this to a known one (difflib's ratio) is a mistake (assumed)."""


def read_packing(
    path: Path,
    capacity: int | None = None,
    memories: tuple[Memory, ...] = (),
    deadline: Deadline = NO_DEADLINE,
) -> PackingTable:
    """The problem in a CSV file. Raises BadInput, with line and column, for any mistake in it, TimeIsOver at
    the deadline."""
    return parse_packing(read_text(path), str(path), capacity, memories, deadline)


def parse_packing(
    text: str,
    file: str,
    capacity: int | None = None,
    memories: tuple[Memory, ...] = (),
    deadline: Deadline = NO_DEADLINE,
) -> PackingTable:
    """The problem in the text of a CSV file. A header without rows is a problem without buffers."""
    lines = read_lines(text, file)
    head = next(lines, None)
    if head is None:
        hint = f"begin it with the line: {','.join(REQUIRED)}"
        raise BadInput("the file is empty", where=Place(file, 1, 1), hint=hint)
    columns = _Columns(head)
    rows = [_BufferRow(columns, line) for line in deadline.during(islice(lines, MAX_ROWS), READING)]
    more = next(lines, None)
    if more is not None:
        hint = "pack parts of it that are not alive together one by one"
        raise BadInput(f"there are more than {MAX_ROWS:,} buffers", where=more.place(0), hint=hint)
    buffers = tuple(row.buffer() for row in deadline.during(rows, READING))
    _check_sizes(buffers, rows)
    by_name = _unique(rows)
    relations = _BufferRelations(by_name, memories)
    problem = Problem(
        buffers,
        capacity,
        memories,
        relations.colocated(),
        relations.pairs("separate"),
        relations.pairs("apart"),
    )
    _check_colocated(problem, by_name)
    return PackingTable(
        problem, head.cells, tuple(row.line.cells for row in rows), _hints(rows), _notes(columns, problem)
    )


def write_packing(table: PackingTable, plan: Plan) -> str:
    """The table as CSV with the plan's offsets: in a new last column, or in place of old offsets."""
    names = [SYNONYMS.get(name, name) for name in table.header]
    at = names.index("offset") if "offset" in names else len(names)
    key = names.index("id")
    lines = [csv_line((*table.header[:at], "offset", *table.header[at + 1 :]))]
    for row in table.rows:
        cells = (*row[:at], str(plan.offsets[row[key]]), *row[at + 1 :])
        lines.append(csv_line(map(cell_text, cells)))
    return "\n".join(lines) + "\n"


def table_of(problem: Problem) -> PackingTable:
    """A problem as a table, with columns for alignments and holes if it has any, not for constraints."""
    aligned = any(buffer.alignment > 1 for buffer in problem.buffers)
    holes = any(len(buffer.live) > 1 for buffer in problem.buffers)
    header = (*REQUIRED, *(["alignment"] * aligned), *(["gaps"] * holes))
    rows: list[tuple[str, ...]] = []
    for buffer in problem.buffers:
        start, stop = (buffer.live[0].start, buffer.live[-1].stop) if buffer.live else (0, 0)
        pairs = zip(buffer.live, buffer.live[1:], strict=False)
        gaps = " ".join(f"{before.stop}-{after.start}" for before, after in pairs)
        plain = (buffer.name, str(start), str(stop), str(buffer.bytes))
        rows.append((*plain, *([str(buffer.alignment)] * aligned), *([gaps] * holes)))
    return PackingTable(problem, header, tuple(rows), {})


class _Columns:
    """The index of the cell for each column."""

    def __init__(self, head: CsvLine) -> None:
        self.head = head
        self.at: dict[str, int] = {}
        self.unused: list[str] = []
        self.inclusive = False
        for index, written in enumerate(head.cells):
            self._take(index, written)
        missing = [name for name in REQUIRED if name not in self.at]
        if missing:
            what = f"the header has no column {', '.join(missing)}"
            hint = (
                f"the first line names the columns: {','.join(REQUIRED)}, and may name {', '.join(OPTIONAL)}"
            )
            raise BadInput(what, where=head.place(0), hint=hint)

    def _take(self, index: int, written: str) -> None:
        name = SYNONYMS.get(written, written)
        if name in self.at or written in self.unused:
            what = f"the header has two columns for {shown(name)}"
            raise BadInput(what, where=self.head.place(index), hint="remove or rename one of them")
        if name in REQUIRED or name in OPTIONAL:
            self.at[name] = index
            self.inclusive |= written == "end"
            return
        known = (*REQUIRED, *OPTIONAL, *SYNONYMS)
        folded = written.lower()
        if folded in known or get_close_matches(folded, known, n=1, cutoff=_MISSPELLING_RATIO):
            what = f"the header has the unknown column {shown(written)}"
            raise BadInput(what, where=self.head.place(index), hint=suggest(written, known, "columns are"))
        self.unused.append(written)


class _BufferRow:
    """The line of one buffer."""

    def __init__(self, columns: _Columns, line: CsvLine) -> None:
        self.columns = columns
        self.line = line
        wanted, given = len(columns.head.cells), len(line.cells)
        if wanted != given:
            what = f"the row has {given} cells, the header {wanted}"
            hint = "write one cell for each column, and quote a cell with a comma in it"
            raise BadInput(what, where=line.place(min(wanted, given - 1)), hint=hint)

    def text(self, name: str) -> str:
        at = self.columns.at
        return self.line.cells[at[name]] if name in at else ""

    def place(self, name: str) -> Place:
        return self.line.place(self.columns.at.get(name, 0))

    def names(self, name: str) -> list[str]:
        text = self.text(name)
        return [piece.strip() for piece in text.split(";") if piece.strip()] if text else []

    def number(self, name: str, least: int = -MAX_VALUE) -> int:
        text = self.text(name)
        if not text:
            raise BadInput(f"{name} is empty", where=self.place(name), hint="write a whole number")
        if not _WHOLE.fullmatch(text):
            digits = text.lstrip("+-")
            if digits.isascii() and digits.isdigit() and len(text) - len(digits) <= 1:
                raise self.out_of_range(name, text, least)
            raise BadInput(
                f"{name} {shown(text)} is not a whole number", where=self.place(name), hint=_HINT_NUMBER
            )
        value = int(text)
        if not least <= value <= MAX_VALUE:
            raise self.out_of_range(name, text, least)
        return value

    def optional(self, name: str, least: int) -> int | None:
        return self.number(name, least) if name in self.columns.at and self.text(name) else None

    def out_of_range(self, name: str, text: str, least: int) -> BadInput:
        low = "-2^61" if least == -MAX_VALUE else str(least)
        return BadInput(
            f"{name} {shown(text)} is out of range", where=self.place(name), hint=f"write {low} to 2^61"
        )

    def buffer(self) -> Buffer:
        name = self.text("id")
        if not name:
            raise BadInput("id is empty", where=self.place("id"), hint="give every buffer a name of its own")
        alignment = self.optional("alignment", 1)
        return Buffer(
            name,
            self.number("size", 0),
            self.live(),
            1 if alignment is None else alignment,
            self.optional("pinned", 0),
            tuple(self.names("memories")),
        )

    def live(self) -> tuple[Interval, ...]:
        lower, upper = self.number("lower"), self.number("upper") + self.columns.inclusive
        if upper < lower:
            what = f"the lifetime ends at {upper}, before it begins at {lower}"
            hint = "lower is the first position, upper the one after the last"
            raise BadInput(what, where=self.place("upper"), hint=hint)
        life = Interval(lower, upper)
        if not self.text("gaps"):
            return (life,) if lower < upper else ()
        gaps = merged(self.gaps(life))
        starts, stops = (lower, *(gap.stop for gap in gaps)), (*(gap.start for gap in gaps), upper)
        return tuple(Interval(a, b) for a, b in zip(starts, stops, strict=True) if a < b)

    def gaps(self, life: Interval) -> Iterator[Interval]:
        for text in self.text("gaps").split():
            if "@" in text:
                what = f"the gap {shown(text)} keeps part of the buffer alive, which is not supported"
                hint = "remove the text from @ on to free the whole buffer, or split the buffer in two"
                raise BadInput(what, where=self.place("gaps"), hint=hint)
            match = _GAP.fullmatch(text)
            if match is None:
                hint = "write the gaps in the lifetime as in 10-20 35-40"
                raise BadInput(f"the gap {shown(text)} is not FROM-TO", where=self.place("gaps"), hint=hint)
            start, stop = int(match[1]), int(match[2]) + self.columns.inclusive
            if not life.start <= start < stop <= life.stop:
                what = f"the gap {shown(text)} is not inside the lifetime [{life.start}, {life.stop})"
                raise BadInput(
                    what, where=self.place("gaps"), hint="a gap begins before it ends, and both are inside"
                )
            yield Interval(start, stop)


class _BufferRelations:
    """Constraints between buffers: groups and pairs; checks the memories that rows name."""

    def __init__(self, by_name: Mapping[str, _BufferRow], memories: Sequence[Memory]) -> None:
        self.by_name = by_name
        self.rows = rows = list(by_name.values())
        known = [memory.name for memory in memories]
        named = rows and not rows[0].columns.at.keys().isdisjoint(("memories", "apart"))
        for row in rows if named else ():
            for name in row.names("memories"):
                if name not in known:
                    hint = suggest(name, known, "memories are") or f"give its size: --memory {name}=64KiB"
                    what = f"buffer {shown(row.text('id'))} names the unknown memory {shown(name)}"
                    raise BadInput(what, where=row.place("memories"), hint=hint)
            if row.text("apart") and not known:
                hint = "name them: --memory fast=64KiB --memory slow=1MiB; or use the column separate"
                raise BadInput("the column apart needs several memories", where=row.place("apart"), hint=hint)

    def colocated(self) -> tuple[tuple[str, ...], ...]:
        groups: dict[str, list[str]] = {}
        for row in self.rows if self.rows and "colocate" in self.rows[0].columns.at else ():
            label = row.text("colocate")
            if label:
                groups.setdefault(label, []).append(row.text("id"))
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def pairs(self, column: str) -> tuple[tuple[str, str], ...]:
        """The pairs of a column, each once, even where both rows name each other."""
        named: dict[tuple[str, str], tuple[str, str]] = {}
        for row in self.rows if self.rows and column in self.rows[0].columns.at else ():
            name = row.text("id")
            for other in row.names(column):
                if other == name:
                    what = f"buffer {shown(name)} cannot be {_WORDS[column]} itself"
                    raise BadInput(what, where=row.place(column), hint="name other buffers")
                if other not in self.by_name:
                    what = f"buffer {shown(name)} is to be {_WORDS[column]} the unknown buffer {shown(other)}"
                    hint = suggest(other, self.by_name, "separate names with ; where ids are")
                    raise BadInput(what, where=row.place(column), hint=hint)
                named.setdefault((min(name, other), max(name, other)), (name, other))
        return tuple(named.values())


_WORDS = {"separate": "separate from", "apart": "apart from"}


def _unique(rows: list[_BufferRow]) -> dict[str, _BufferRow]:
    """Rows by the names of their buffers, in order."""
    lines: dict[str, _BufferRow] = {}
    for row in rows:
        name = row.text("id")
        if name in lines:
            what = f"the id {shown(name)} is used twice, first on line {lines[name].line.number}"
            raise BadInput(what, where=row.place("id"), hint="give every buffer a name of its own")
        lines[name] = row
    return lines


def _check_sizes(buffers: Sequence[Buffer], rows: list[_BufferRow]) -> None:
    total = parts = 0
    for buffer, row in zip(buffers, rows, strict=True):
        parts += len(buffer.live)
        if parts > MAX_ROWS:
            what = f"with the gaps of buffer {shown(buffer.name)} lifetimes have more than {MAX_ROWS:,} parts"
            hint = "leave out the shortest gaps: a buffer that is alive in them only takes more bytes"
            raise BadInput(what, where=row.place("gaps"), hint=hint)
        total += buffer.bytes + buffer.alignment
        if max(total, (buffer.pinned or 0) + buffer.bytes) > MAX_VALUE:
            what = (
                f"with size {buffer.bytes} of buffer {shown(buffer.name)} the sizes add up to more than 2^61"
            )
            raise BadInput(what, where=row.place("size"), hint="check the unit: sizes are bytes")


def _check_colocated(problem: Problem, by_name: Mapping[str, _BufferRow]) -> None:
    group_of = {name: group for group in problem.colocated for name in group}
    for word, pairs in (("separate", problem.separated), ("apart", problem.apart)):
        for a, b in pairs:
            if a in group_of and group_of[a] == group_of.get(b):
                what = f"buffers {shown(a)} and {shown(b)} are to be colocated and {word} at once"
                raise BadInput(what, where=by_name[a].place("id"), hint="drop one of the two")


def _hints(rows: list[_BufferRow]) -> dict[str, int]:
    hints: dict[str, int] = {}
    columns = [each for each in ("hint", "offset") if rows and each in rows[0].columns.at]
    for row in rows if columns else ():
        for column in columns:
            value = row.optional(column, 0)
            if value is not None:
                hints.setdefault(row.text("id"), value)
    return hints


def _notes(columns: _Columns, problem: Problem) -> tuple[str, ...]:
    notes = [f"the column {shown(name)} is not used" for name in columns.unused]
    if "offset" in columns.at:
        notes.append("the column 'offset' is only a plan to start from; required offsets belong in 'pinned'")
    empty = [b.name for b in problem.buffers if not b.live]
    if empty:
        more = f" and {len(empty) - 1:,} more" if len(empty) > 1 else ""
        notes.append(f"the lifetime of {shown(empty[0])}{more} is empty: it conflicts with no other buffer")
    return tuple(notes)


def parse_memories(texts: Sequence[str]) -> tuple[Memory, ...]:
    """Memories given as ``NAME=SIZE``, each after the one before, or ``NAME=START-STOP``.

    Raises BadInput for other text, a name given twice, and memories that overlap.
    """
    memories: list[Memory] = []
    for text in texts:
        name, equals, extent = (part.strip() for part in text.partition("="))
        if not (name and equals and extent) or ";" in name:
            hint = "write it as in --memory fast=64KiB or --memory fast=0-65536"
            raise BadInput(f"--memory {shown(text)} is not NAME=SIZE or NAME=START-STOP", hint=hint)
        start, dash, stop = extent.partition("-")
        if dash and start:
            memory = Memory(name, parse_bytes(start), parse_bytes(stop))
        else:
            end = max((m.stop for m in memories), default=0)
            memory = Memory(name, end, end + parse_bytes(extent))
        _add_memory(memories, memory)
    return tuple(memories)


def _add_memory(memories: list[Memory], memory: Memory) -> None:
    if memory.stop < memory.start or memory.stop > MAX_VALUE:
        what = f"--memory {memory.name} ends at {memory.stop} and begins at {memory.start}"
        raise BadInput(what, hint="write START-STOP with START <= STOP <= 2^61")
    for other in memories:
        if other.name == memory.name:
            raise BadInput(f"--memory {shown(memory.name)} is given twice", hint="name every memory once")
        if Interval(other.start, other.stop).overlaps(Interval(memory.start, memory.stop)):
            what = f"the memories {shown(other.name)} and {shown(memory.name)} overlap"
            raise BadInput(what, hint="memories are parts of one address space that share no byte")
    memories.append(memory)
