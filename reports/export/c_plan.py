"""A plan as C99 without a dependency: its tables, the loop over them, and an example port to a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from chipmodel.execute.byte_arrays import Bytes, key_of
from chipmodel.execute.memory import homes_of
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from reports.export.c_host import host_data, weights_image
from reports.export.c_names import LONGEST, LONGEST_PREFIX, commented, identifiers
from reports.export.c_tables import CARRIED, NONE, SCRATCH, WEIGHTS, CEntry, CNode, Tables
from reports.export.layout import Layout, rings, tensors_in_buffers
from reports.template import render_text

LONGEST_INFIX = len("_PSRAM_BYTES_")
"""Characters between the prefix and a name."""
END = CEntry("ARM", 0, 0, "the end")
NO_NODE = CNode("", (), 0, NONE)
PSRAM_FILE, WEIGHTS_FILE = "psram.bin", "weights.bin"
NO_VALUES: Mapping[str, Bytes] = MappingProxyType({})


def c_files(
    layout: Layout,
    program: Program,
    prefix: str,
    runs: bool = True,
    weights: Mapping[str, Bytes] = NO_VALUES,
) -> dict[str, str | bytes]:
    """The files by name; ``prefix`` begins every identifier (at most 24 characters).

    There is an example port if what the program ``runs`` on is known byte by byte, for all cores and all that
    a host does: not where a chip stores weights in its own sizes, not for one of several cores, and not for
    several inferences in a row. ``weights`` are those whose values are known, by name.
    """
    tables = Tables(layout, program)
    low = prefix.lower()
    file = f"{low}_plan"
    psram = max(span.stop for span in homes_of((layout.commands,)).spans)
    wide = max(layout.capacity, layout.peak, psram) >= 1 << 32
    inside = tensors_in_buffers(layout)
    longest = LONGEST - min(len(prefix), LONGEST_PREFIX) - LONGEST_INFIX
    titles = identifiers((f"{number} {_title(h.part)}" for number, h in enumerate(layout.psram)), longest)
    nodes = _numbered(identifiers((node.name for node in tables.nodes), longest))
    arms = [(f"{node.name} {arm}", number) for node in tables.nodes for number, arm in enumerate(node.arms)]
    arm_names = identifiers((name for name, _ in arms), longest)
    values: dict[str, Any] = {
        "layout": layout,
        "on": layout.chip if layout.core is None else f"core {layout.core} of {layout.chip}",
        "file": file,
        "low": low,
        "up": prefix.upper(),
        "integer": "uint64_t" if wide else "uint32_t",
        "u": "ull" if wide else "u",
        "psram": psram,
        "tables": tables,
        "names": identifiers([*(b.name for b in layout.buffers), *inside], longest),
        "inside": inside,
        "rings": rings(layout),
        "homes": layout.psram,
        "home_names": dict(zip(layout.psram, titles.values(), strict=True)),
        "ops": _numbered(identifiers(tables.ops, longest)),
        "nodes": nodes,
        "arms": [(arm_names[name], number) for name, number in arms],
        "end": END,
        "nothing": NO_NODE,
        "key_of": _key,
        "WEIGHTS": WEIGHTS,
        "CARRIED": CARRIED,
        "SCRATCH": SCRATCH,
    }
    image, missing = weights_image(layout, tables, weights)
    values["without_values"] = missing if weights else []
    filters: dict[str, Callable[[Any], str]] = {
        "commented": commented,
        "row_of": row_of,
        "quoted": quoted,
        "title_of": _title,
    }

    def render(template: str) -> str:
        return render_text(template, values, filters)

    files: dict[str, str | bytes] = {f"{file}.h": render("plan.h.j2"), f"{file}.c": render("plan.c.j2")}
    if weights:
        files[WEIGHTS_FILE] = image
    if runs and layout.core is None and program.inferences == 1:
        values["host"], content = host_data(layout, tables)
        files |= {f"{file}_host.{end}": render(f"host.{end}.j2") for end in "hc"}
        files[PSRAM_FILE] = content.tobytes()
    return files


def _title(part: Part) -> str:
    share = part.share
    which = "" if share.whole else f" rows {share.rows} channels {share.channels}"
    return f"{part.name}{' weights' if part.weights else ''}{which}"


def _numbered(names: dict[str, str]) -> list[tuple[str, int]]:
    return [(name, number) for number, name in enumerate(names.values())]


def row_of(row: object) -> str:
    """A row of a table as the values of a struct; its name is left out."""
    match row:
        case int():
            return f"{int(row)}{'u' if row >> 31 else ''}"
        case str():
            return row
        case Interval():
            return f"{{ {row.start}, {row.stop} }}"
        case Share():
            return _fields(
                (row.rows, row.channels, row.columns, row.of_rows, row.of_channels, row.of_columns)
            )
        case CNode():
            return _fields((len(row.arms), row.iterations, row.condition))
        case _:
            return _fields(cast(Any, row))


def _fields(row: Any) -> str:
    keys: Sequence[object] = getattr(row, "_fields", range(len(row)))
    shown = [
        (row_of(value), type(value) is tuple) for key, value in zip(keys, row, strict=True) if key != "name"
    ]
    return ", ".join(f"{{ {text} }}" if inner else text for text, inner in shown)


def _key(text: str) -> int:
    return int(key_of(text))


def quoted(text: str) -> str:
    """``text`` as a string of C: every byte that is no plain letter, digit or mark is escaped in octal."""
    plain = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{plain}"'
