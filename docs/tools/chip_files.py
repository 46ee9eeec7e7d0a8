"""Print the reference of chip files: every field, and every number of the presets with its origin.

python -m docs.tools.chip_files
"""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.fields import FIELDS, FURTHER, Field
from chipmodel.hardware.further_memories import GROUP
from docs.tools.chip_meanings import FURTHER_MEANING, MEANING
from docs.tools.markdown import code, table


def reference() -> Iterator[str]:
    """The presets side by side, the fields of a chip file, and each preset's numbers."""
    chips = [load_chip(name) for name in preset_names()]
    yield "## Presets\n"
    yield _side_by_side(chips) + "\n"
    yield "## Fields\n"
    yield _fields() + "\n"
    yield "## Numbers of the presets\n"
    for chip in chips:
        yield f"### {chip.name}\n\n{chip.title}; {chip.accuracy}.\n"
        yield _numbers(chip) + "\n"


def _side_by_side(chips: list[Chip]) -> str:
    rows = [
        [
            code(chip.name),
            f"{chip.title}; {chip.accuracy}",
            f"{chip.shared_memory.bytes // 1024:,} KiB",
            *(f"{float(n):g}" for n in (chip.core_mhz, chip.psram.clock_mhz, chip.npu.macs_per_cycle[8])),
        ]
        for chip in chips
    ]
    heads = ["name", "what it is", ">SharedMemory", ">core MHz", ">Psram MHz", ">int8 MACs a cycle"]
    return table(heads, rows)


def _fields() -> str:
    rows = [
        [code(path), MEANING[path] + _only(field), _takes(field), field.default or ""]
        for path, field in FIELDS.items()
    ]
    rows += [
        [code(f"{GROUP}.NAME.{key}"), FURTHER_MEANING[key] + _only(field), _takes(field), field.default or ""]
        for key, field in FURTHER.items()
    ]
    return table(["field", "meaning", "takes", "default"], rows)


def _takes(field: Field) -> str:
    if field.kind == "choice":
        return ", ".join(code(option) for option in field.options)
    low = field.limit(field.low).removesuffix(f" {field.unit}")
    power = ", a power of two" if field.power_of_two else ""
    return f"{low} to {field.limit(field.high)}{power}"


def _only(field: Field) -> str:
    if field.only is None:
        return ""
    path, options = field.only
    return f" (`{path}: {' or '.join(options)}`)"


def _numbers(chip: Chip) -> str:
    rows = [[code(path), figure.value, figure.mark, figure.source] for path, figure in chip.figures.items()]
    return table(["field", ">value", "mark", "source"], rows)


if __name__ == "__main__":
    print("\n".join(reference()))
