"""Read and write packing problems as CSV: MiniMalloc's columns, and additional ones for constraints.

``id,lower,upper,size`` are required, in any order; a lifetime is ``[lower, upper)``. As in MiniMalloc's own
reader (google/minimalloc, src/converter.cc), ``buffer`` and ``buffer_id`` mean ``id``, ``begin`` and
``start`` mean ``lower``, and ``end`` is the last position of a lifetime, not the one after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice, pairwise
from pathlib import Path

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_table import CsvColumn, CsvRow, CsvTable, csv_text, read_csv
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown, suggest
from chipmodel.files.text_file import read_text
from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.plan import Buffer, Memory, PackingTable, Plan, Problem
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

_ZERO = dict.fromkeys(("size", "hint", "pinned", "offset"), 0)
_LEAST = {"lower": -MAX_VALUE, "upper": -MAX_VALUE, "alignment": 1, **_ZERO}
_NUMBERS = {name: CsvColumn(name, "whole", least, MAX_VALUE) for name, least in _LEAST.items()}
_GAP = re.compile(r"([+-]?[0-9]{1,19})-([+-]?[0-9]{1,19})", re.ASCII)
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
    text = read_text(path)
    try:
        return parse_packing(text, str(path), capacity, memories, deadline)
    except BadInput:
        if path.suffix.lower() != ".json" and not text.lstrip().startswith(("{", "[")):
            raise
        hint = f"pack reads CSV with {','.join(REQUIRED)}; chipmodel check reads answers in JSON"
        raise BadInput("this is JSON, not a CSV file", where=Place(str(path), 1, 1), hint=hint) from None


def parse_packing(
    text: str,
    file: str,
    capacity: int | None = None,
    memories: tuple[Memory, ...] = (),
    deadline: Deadline = NO_DEADLINE,
) -> PackingTable:
    """The problem in the text of a CSV file. A header without rows is a problem without buffers."""
    table = read_csv(text, file, SYNONYMS)
    unused = _unused(table)
    table.need(REQUIRED)
    rows = [*deadline.during(islice(table.rows, MAX_ROWS), READING)]
    more = next(table.rows, None)
    if more is not None:
        hint = "pack parts of it that are not alive together one by one"
        raise BadInput(f"there are more than {MAX_ROWS:,} buffers", where=more.place(), hint=hint)
    inclusive = "end" in table.header.cells
    buffers = tuple(_buffer(row, inclusive) for row in deadline.during(rows, READING))
    _check_sizes(buffers, rows)
    by_name = _unique(rows)
    _check_memories(rows, memories)
    pairs = _pairs(by_name, "separate"), _pairs(by_name, "apart")
    problem = Problem(buffers, capacity, memories, _colocated(rows), *pairs)
    _check_colocated(problem, by_name)
    cells, notes = tuple(row.line.cells for row in rows), _notes(table, unused, problem)
    return PackingTable(problem, table.header.cells, cells, _hints(rows), notes)


def write_packing(table: PackingTable, plan: Plan) -> str:
    """The table as CSV with the plan's offsets: in a new last column, or in place of old offsets."""
    names = [SYNONYMS.get(name, name) for name in table.header]
    at = names.index("offset") if "offset" in names else len(names)
    key = names.index("id")
    rows = ((*row[:at], str(plan.offsets[row[key]]), *row[at + 1 :]) for row in table.rows)
    return csv_text((*table.header[:at], "offset", *table.header[at + 1 :]), rows)


def table_of(problem: Problem) -> PackingTable:
    """A problem as a table, with columns for alignments, holes and groups of colocated buffers if it has any,
    not for other constraints."""
    label_of = {name: group[0] for group in problem.colocated for name in group}
    aligned = any(buffer.alignment > 1 for buffer in problem.buffers)
    holes = any(len(buffer.live) > 1 for buffer in problem.buffers)
    header = (*REQUIRED, *["alignment"] * aligned, *["gaps"] * holes, *["colocate"] * bool(label_of))
    rows: list[tuple[str, ...]] = []
    for buffer in problem.buffers:
        start, stop = (buffer.live[0].start, buffer.live[-1].stop) if buffer.live else (0, 0)
        gaps = " ".join(f"{before.stop}-{after.start}" for before, after in pairwise(buffer.live))
        plain = (buffer.name, str(start), str(stop), str(buffer.bytes))
        extra = *[str(buffer.alignment)] * aligned, *[gaps] * holes
        rows.append((*plain, *extra, *[label_of.get(buffer.name, "")] * bool(label_of)))
    return PackingTable(problem, header, tuple(rows), {})


def _unused(table: CsvTable) -> list[str]:
    """Columns of the user's own. Raises BadInput for one that is nearly called as a known one."""
    known = (*REQUIRED, *OPTIONAL, *SYNONYMS)
    unused = [name for name in table.at if name not in known]
    for name in unused:
        folded = name.lower()
        if folded in known or get_close_matches(folded, known, n=1, cutoff=_MISSPELLING_RATIO):
            what = f"the header has the unknown column {shown(name)}"
            raise BadInput(what, where=table.place(name), hint=suggest(name, known, "columns are"))
    return unused


def _buffer(row: CsvRow, inclusive: bool) -> Buffer:
    """The buffer of a row; ``inclusive`` says that ends are the last positions."""
    name = row.text("id")
    if not name:
        row.refuse("id", "id is empty", "give every buffer a name of its own")
    alignment = _optional(row, "alignment")
    return Buffer(
        name,
        row.whole(_NUMBERS["size"]),
        _live(row, inclusive),
        1 if alignment is None else alignment,
        _optional(row, "pinned"),
        tuple(_names(row, "memories")),
    )


def _optional(row: CsvRow, name: str) -> int | None:
    return row.whole(_NUMBERS[name]) if name in row.at and row.text(name) else None


def _names(row: CsvRow, column: str) -> list[str]:
    if column not in row.at:
        return []
    return [piece.strip() for piece in row.text(column).split(";") if piece.strip()]


def _live(row: CsvRow, inclusive: bool) -> tuple[Interval, ...]:
    lower, upper = row.whole(_NUMBERS["lower"]), row.whole(_NUMBERS["upper"]) + inclusive
    if upper < lower:
        what = f"the lifetime ends at {upper}, before it begins at {lower}"
        row.refuse("upper", what, "lower is the first position, upper the one after the last")
    life = Interval(lower, upper)
    if not row.text("gaps"):
        return (life,) if lower < upper else ()
    gaps = merged(_gaps(row, life, inclusive))
    starts, stops = (lower, *(gap.stop for gap in gaps)), (*(gap.start for gap in gaps), upper)
    return tuple(Interval(a, b) for a, b in zip(starts, stops, strict=True) if a < b)


def _gaps(row: CsvRow, life: Interval, inclusive: bool) -> Iterator[Interval]:
    for text in row.text("gaps").split():
        if "@" in text:
            what = f"the gap {shown(text)} keeps part of the buffer alive, which is not supported"
            hint = "remove the text from @ on to free the whole buffer, or split the buffer in two"
            row.refuse("gaps", what, hint)
        match = _GAP.fullmatch(text)
        if match is None:
            row.refuse("gaps", f"the gap {shown(text)} is not FROM-TO", "write gaps as in 10-20 35-40")
        start, stop = int(match[1]), int(match[2]) + inclusive
        if not life.start <= start < stop <= life.stop:
            what = f"the gap {shown(text)} is not inside the lifetime [{life.start}, {life.stop})"
            row.refuse("gaps", what, "a gap begins before it ends, and both are inside")
        yield Interval(start, stop)


def _check_memories(rows: Iterable[CsvRow], memories: Sequence[Memory]) -> None:
    known = [memory.name for memory in memories]
    for row in rows:
        for name in _names(row, "memories"):
            if name not in known:
                hint = suggest(name, known, "memories are") or f"give its size: --memory {name}=64KiB"
                what = f"buffer {shown(row.text('id'))} names the unknown memory {shown(name)}"
                row.refuse("memories", what, hint)
        if row.text("apart") and not known:
            hint = "name them: --memory fast=64KiB --memory slow=1MiB; or use the column separate"
            row.refuse("apart", "the column apart needs several memories", hint)


def _colocated(rows: Iterable[CsvRow]) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, list[str]] = {}
    for row in rows:
        if label := row.text("colocate"):
            groups.setdefault(label, []).append(row.text("id"))
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _pairs(by_name: Mapping[str, CsvRow], column: str) -> tuple[tuple[str, str], ...]:
    """The pairs of a column, each once, even where both rows name each other."""
    named: dict[tuple[str, str], tuple[str, str]] = {}
    for name, row in by_name.items():
        for other in _names(row, column):
            if other == name:
                row.refuse(
                    column, f"buffer {shown(name)} cannot be {column} from itself", "name other buffers"
                )
            if other not in by_name:
                what = f"buffer {shown(name)} is to be {column} from the unknown buffer {shown(other)}"
                row.refuse(column, what, suggest(other, by_name, "separate names with ; where ids are"))
            named.setdefault((min(name, other), max(name, other)), (name, other))
    return tuple(named.values())


def _unique(rows: Iterable[CsvRow]) -> dict[str, CsvRow]:
    """Rows by the names of their buffers, in order."""
    by_name: dict[str, CsvRow] = {}
    for row in rows:
        first = by_name.setdefault(row.text("id"), row)
        if first is not row:
            what = f"the id {shown(row.text('id'))} is used twice, first on line {first.line.number}"
            row.refuse("id", what, "give every buffer a name of its own")
    return by_name


def _check_sizes(buffers: Sequence[Buffer], rows: Sequence[CsvRow]) -> None:
    total = parts = 0
    for buffer, row in zip(buffers, rows, strict=True):
        parts += len(buffer.live)
        if parts > MAX_ROWS:
            what = f"with the gaps of buffer {shown(buffer.name)} lifetimes have more than {MAX_ROWS:,} parts"
            hint = "leave out the shortest gaps: a buffer that is alive in them only takes more bytes"
            row.refuse("gaps", what, hint)
        total += buffer.bytes + buffer.alignment
        if max(total, (buffer.pinned or 0) + buffer.bytes) > MAX_VALUE:
            what = (
                f"with size {buffer.bytes} of buffer {shown(buffer.name)} the sizes add up to more than 2^61"
            )
            row.refuse("size", what, "check the unit: sizes are bytes")


def _check_colocated(problem: Problem, by_name: Mapping[str, CsvRow]) -> None:
    group_of = {name: group for group in problem.colocated for name in group}
    for word, pairs in (("separate", problem.separated), ("apart", problem.apart)):
        for a, b in pairs:
            if a in group_of and group_of[a] == group_of.get(b):
                what = f"buffers {shown(a)} and {shown(b)} are to be colocated and {word} at once"
                by_name[a].refuse("id", what, "drop one of the two")


def _hints(rows: Iterable[CsvRow]) -> dict[str, int]:
    hints: dict[str, int] = {}
    for row in rows:
        for column in ("hint", "offset"):
            if (value := _optional(row, column)) is not None:
                hints.setdefault(row.text("id"), value)
    return hints


def _notes(table: CsvTable, unused: Iterable[str], problem: Problem) -> tuple[str, ...]:
    notes = [f"the column {shown(name)} is not used" for name in unused]
    if "offset" in table.at:
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
