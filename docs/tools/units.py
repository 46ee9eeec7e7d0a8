"""Print what is modelled of each unit of a chip, and how far off it is.

python -m docs.tools.units

A unit is an option of a field of chip files, such as ``npu.model: luna``; there is a row for each option of
``FIELDS_OF_UNITS``. What is modelled and what is not are sentences of this module. Errors are those of the
tables of ``bench.accuracy``, compared again here, and what presets say that they were compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.accuracy import TableAccuracy, accuracies
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.fields import FIELDS
from docs.tools.markdown import table

NPU, DMA, MEMORY = "npu.model", "dma.model", "shared_memory.model"
FIELDS_OF_UNITS = (NPU, DMA, MEMORY)


@dataclass(frozen=True, slots=True)
class ModelledUnit:
    """What is modelled of a unit, and what is not. ``tables`` of ``bench.accuracy`` are about it; ``held``
    says what it was compared with where there are none."""

    modelled: str
    omitted: str
    tables: tuple[str, ...] = ()
    held: str = ""


UNITS: Mapping[tuple[str, str], ModelledUnit] = {
    (NPU, "luna"): ModelledUnit(
        "cycles of convolutions, depthwise ones, matrices and vectors, by passes over LUNA's buffers",
        "the values that it computes",
        ("luna_conv2d", "luna_depthwise2d", "luna_matmul", "luna_vector"),
    ),
    (NPU, "ethos-u55"): ModelledUnit(
        "blocks of Ethos-U55 and U65, one after another, as Arm's compiler estimates them",
        "the time of what runs on the CPU, which is named",
    ),
    (NPU, "ethos-u85"): ModelledUnit(
        "blocks of Ethos-U85, one after another, as Arm's compiler estimates them",
        "the time of what runs on the CPU, which is named; chains of ops; weights of which half are zero",
    ),
    (NPU, "array"): ModelledUnit(
        "MACs padded to an array, operands through ports, a launch for each op",
        "which ops of a network fall back to the CPU",
    ),
    (NPU, "ne16"): ModelledUnit(
        "its public RTL, subtile after subtile; the cores as PULP-NN",
        "transfers of tensors between ops, but in a cost of each op",
    ),
    (NPU, "vector-cpu"): ModelledUnit(
        "the runtime's kernels, and the data caches in front of Psram",
        "what makes some of Seeed's networks quicker",
    ),
    (DMA, "bursts"): ModelledUnit(
        "set-up, bursts, pages, the crossing between clocks", "other masters on the bus", ("luna_transfer",)
    ),
    (DMA, "line"): ModelledUnit(
        "a set-up and a constant rate, from the size and the overhead of a burst",
        "where a burst begins, pages, other masters",
        held="in the errors of whole networks above",
    ),
    (DMA, "hyperbus"): ModelledUnit(
        "PULP's HyperBus controller as its RTL has it",
        "the delays of pads",
        ("rtl_hyperbus_read", "rtl_hyperbus_back_to_back"),
    ),
    (DMA, "cdma"): ModelledUnit(
        "an AXI CDMA as its RTL has it", "other masters on the bus", ("rtl_axi_cdma",)
    ),
    (DMA, "ef-psram"): ModelledUnit(
        "the EF_PSRAM controller as its RTL has it", "the delays of pads", ("rtl_ef_psram",)
    ),
    (DMA, "dram"): ModelledUnit(
        "rows, banks and refreshes of DDR, LPDDR4 and LPDDR5 by JEDEC's timings",
        "rows that others opened, other masters, power-down",
        held="0.42% in the mean and 3.00% at most on 100 recorded runs, compared with Ramulator 2.1",
    ),
    (MEMORY, "banks"): ModelledUnit(
        "every access of the NPU, the DMA engine and the CPU: of two at one bank in a cycle, one waits",
        "the order of accesses within an op: each operand's come at even intervals",
        held="not compared with a board; both simulators agree in every cycle",
    ),
    (MEMORY, "flat"): ModelledUnit(
        "no access waits for another", "conflicts of banks", held="in the errors of whole networks above"
    ),
}
HOST = ModelledUnit(
    "words and lines that it takes at fixed intervals",
    "interrupts, operating systems",
    held="not compared with a board",
)


def rows() -> Iterator[tuple[str, ...]]:
    """Unit, what is modelled, what is not, error."""
    measured = {each.table: each for each in accuracies()}
    chips = [load_chip(name) for name in preset_names()]
    for field in FIELDS_OF_UNITS:
        for option in FIELDS[field].options:
            unit = UNITS[field, option]
            errors = [_of_tables([measured[name] for name in unit.tables])] if unit.tables else []
            errors += _of_presets(chips, option) if field == NPU else []
            cell = "<br>".join(errors) or unit.held
            yield f"`{field}: {option}`", unit.modelled, unit.omitted, cell
    yield "host CPU (`cpu`)", HOST.modelled, HOST.omitted, HOST.held


def _of_tables(tables: Sequence[TableAccuracy]) -> str:
    total, exact = sum(each.rows for each in tables), sum(each.exact for each in tables)
    if exact == total:
        return f"none on {total} rows of tables"
    mean = sum(each.mean_relative * each.rows for each in tables) / total
    largest = max(each.largest for each in tables)
    share = max(each.largest_relative for each in tables)
    return f"{mean:.2%} in the mean on {total} rows of tables, {largest:g} cycles or {share:.2%} at most"


def _of_presets(chips: Sequence[Chip], model: str) -> Iterator[str]:
    """What each preset with that NPU model says that it was compared with."""
    own = [chip for chip in chips if chip.figures[NPU].value == model]
    for chip in own:
        if chip.compared_with:
            yield f"`{chip.name}`: {chip.accuracy}"
    others = [f"`{chip.name}`" for chip in own if not chip.compared_with]
    if others:
        yield f"{', '.join(others)}: not compared with a board"


if __name__ == "__main__":
    print(table(("unit", "what is modelled", "what is not", "error"), rows()))
