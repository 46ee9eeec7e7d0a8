"""A plan as a C header: offsets, sizes and the table of DMA transfers.

C99, self-contained. Macros and declarations are for every file that includes it, the two tables only for the
one that defines ``PREFIX_TABLES``. A compile-time assertion compares the peak with the capacity, which may be
defined before the include.
"""

from __future__ import annotations

from collections.abc import Iterator

from reports.export.c_names import LONGEST, LONGEST_PREFIX, commented, identifiers
from reports.export.layout import Layout, PlannedTransfer, Ring, moves, planned_cascades, rings, step_count

TABLE_NOTE = (
    "/* A load moves from Psram to SharedMemory and starts before the compute of its step; a store",
    " * moves back and starts after it. A load must have ended before the compute of step `due`, a",
    " * store before whatever follows the compute of step `due`; NO_STEP: before whatever follows",
    " * its branch or loop. Steps are numbered over the whole program, arms one after another; a",
    " * row holds for every execution of its step. The bytes are consecutive in SharedMemory; in",
    " * Psram they are `runs` equal runs, `pitch` bytes from the start of one to the next. */",
)
RING_NOTE = (
    "/* Rolling buffers hold some rows of a tensor: ROW_x(row) is the offset of a row of it, whose bytes",
    " * follow one another modulo BYTES_x. */",
)
LONGEST_INFIX = len("_ROW_BYTES_")
"""Characters between the prefix and the name of a buffer."""


def c_header(layout: Layout, prefix: str) -> str:
    """The header's text; ``prefix`` begins every identifier (at most 24 characters)."""
    return "\n".join(_CHeader(layout, prefix).lines()) + "\n"


class _CHeader:
    def __init__(self, layout: Layout, prefix: str) -> None:
        self.layout = layout
        self.low = prefix.lower()
        self.up = prefix.upper()
        self.moves = moves(layout)
        self.steps = step_count(layout)
        self.rings = rings(layout)
        self.cascades = planned_cascades(layout)
        longest = LONGEST - min(len(prefix), LONGEST_PREFIX) - LONGEST_INFIX
        self.names = identifiers((b.name for b in layout.buffers), longest)
        numbers = [layout.capacity, layout.peak, *(m.start.psram_end for m in self.moves)]
        self.wide = max(numbers) >= 1 << 32

    @property
    def integer_type(self) -> str:
        return "uint64_t" if self.wide else "uint32_t"

    def number(self, value: int) -> str:
        return f"{value}ull" if self.wide else f"{value}u"

    def lines(self) -> Iterator[str]:
        guard = f"{self.up}_PLAN_H"
        yield from self.about()
        yield from (f"#ifndef {guard}", f"#define {guard}", "", "#include <stdint.h>", "")
        yield from ("#ifdef __cplusplus", 'extern "C" {', "#endif", "")
        yield from self.totals()
        yield from self.buffers()
        yield from self.rolling()
        yield from self.declarations()
        yield from self.tables()
        yield from ("#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */")

    def about(self) -> Iterator[str]:
        layout = self.layout
        on = f"core {layout.core} of {layout.chip}" if layout.core is not None else layout.chip
        yield f"/* Memory plan of {commented(layout.workload)} on {commented(on)}."
        yield " * Written by chipmodel export."
        yield " * Offsets and sizes are bytes; offsets count from the start of SharedMemory."
        if layout.core is not None:
            yield " * Waits of one core for another are not included."
        yield f" * Define {self.up}_TABLES before the #include in one C file to get the tables. */"

    def totals(self) -> Iterator[str]:
        layout, up = self.layout, self.up
        yield f"#ifndef {up}_CAPACITY /* may be defined before this file is included */"
        yield f"#define {up}_CAPACITY {self.number(layout.capacity)}"
        yield "#endif"
        yield f"#define {up}_PEAK {self.number(layout.peak)}"
        yield f"#define {up}_ALIGNMENT {self.number(layout.alignment)}"
        yield f"#define {up}_BUFFERS {len(layout.buffers)}u"
        yield f"#define {up}_TRANSFERS {len(self.moves)}u"
        yield f"#define {up}_STEPS {self.steps}u"
        yield f"#define {up}_NO_STEP 0xFFFFFFFFu"
        yield ""
        yield f"typedef char {self.low}_plan_fits_its_memory[({up}_PEAK <= {up}_CAPACITY) ? 1 : -1];"
        yield ""

    def buffers(self) -> Iterator[str]:
        for buffer in self.layout.buffers:
            live = " ".join(f"[{i.start}, {i.stop})" for i in buffer.live)
            yield f"/* {commented(buffer.name)}: alive at steps {live} */"
            name = self.names[buffer.name]
            yield f"#define {self.up}_OFFSET_{name} {self.number(buffer.offset)}"
            yield f"#define {self.up}_BYTES_{name} {self.number(buffer.bytes)}"
        yield ""

    def ring(self, ring: Ring) -> Iterator[str]:
        """Where the rows of one rolling buffer lie, in one band of columns if there are several."""
        up, buffer = self.up, self.names[ring.buffer]
        name = buffer if ring.band is None else f"{buffer}_BAND_{ring.band}"
        columns = ring.columns
        where = "" if columns is None else f", columns [{columns.start}, {columns.stop})"
        yield f"/* {commented(ring.buffer)}: rows of {commented(ring.tensor)}{where} */"
        yield f"#define {up}_ROWS_{name} {self.number(ring.rows)}"
        yield f"#define {up}_ROW_BYTES_{name} {self.number(ring.row_bytes)}"
        size = f"{up}_BYTES_{buffer}"
        if ring.band is not None:
            size = f"({up}_ROWS_{name} * {up}_ROW_BYTES_{name})"
        yield f"#define {up}_ROW_{name}(row) ({up}_OFFSET_{buffer} + (row) * {up}_ROW_BYTES_{name} % {size})"

    def rolling(self) -> Iterator[str]:
        """Where rows lie in rolling buffers, and which steps belong to a cascade."""
        up = self.up
        if self.rings:
            yield from RING_NOTE
        for ring in self.rings:
            yield from self.ring(ring)
        yield from ("",) if self.rings else ()
        if self.cascades:
            yield "/* Ops of a cascade take turns: of each one, some rows in every step. */"
            yield f"#define {up}_CASCADES {len(self.cascades)}u"
        for number, cascade in enumerate(self.cascades):
            yield f"/* {commented(', '.join(cascade.ops))} */"
            yield f"#define {up}_CASCADE_{number}_FIRST_STEP {cascade.steps.start}u"
            yield f"#define {up}_CASCADE_{number}_LAST_STEP {cascade.steps.stop - 1}u"
        yield from ("",) if self.cascades else ()

    def declarations(self) -> Iterator[str]:
        low, up, integer = self.low, self.up, self.integer_type
        if self.layout.buffers:
            yield f"enum {low}_buffer_index {{"
            yield ",\n".join(f"  {up}_INDEX_{self.names[b.name]}" for b in self.layout.buffers)
            yield from ("};", f"struct {low}_buffer {{", f"  {integer} offset;", f"  {integer} bytes;", "};")
            yield f"extern const struct {low}_buffer {low}_buffers[{up}_BUFFERS];"
            yield ""
        if self.moves:
            yield from TABLE_NOTE
            yield f"struct {low}_transfer {{"
            yield f"  {integer} source;"
            yield f"  {integer} destination;"
            yield f"  {integer} bytes;"
            yield f"  {integer} runs;"
            yield f"  {integer} pitch;"
            yield from ("  uint32_t step;", "  uint32_t due;", "  uint32_t store; /* 0: a load */", "};")
            yield f"extern const struct {low}_transfer {low}_transfers[{up}_TRANSFERS];"
            yield ""

    def tables(self) -> Iterator[str]:
        low, up = self.low, self.up
        if not self.layout.buffers and not self.moves:
            return
        yield f"#ifdef {up}_TABLES"
        if self.layout.buffers:
            yield f"const struct {low}_buffer {low}_buffers[{up}_BUFFERS] = {{"
            for buffer in self.layout.buffers:
                name = self.names[buffer.name]
                yield f"  {{{up}_OFFSET_{name}, {up}_BYTES_{name}}},"
            yield "};"
        if self.moves:
            yield f"const struct {low}_transfer {low}_transfers[{up}_TRANSFERS] = {{"
            yield from (self.row(move) for move in self.moves)
            yield "};"
        yield from (f"#endif /* {up}_TABLES */", "")

    def row(self, move: PlannedTransfer) -> str:
        start = move.start
        store = start.direction == "store"
        ends = (move.shared, start.psram) if store else (start.psram, move.shared)
        due = f"{self.up}_NO_STEP" if move.due is None else f"{move.due}u"
        cells = [
            *(self.number(n) for n in (*ends, start.bytes, start.runs, start.pitch)),
            f"{move.step}u",
            due,
            "1u" if store else "0u",
        ]
        return f"  {{{', '.join(cells)}}}, /* {commented(start.name)} */"
