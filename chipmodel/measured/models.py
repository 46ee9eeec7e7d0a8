"""The model's predictions for a row of each kind of table, one for every measured column.

Every function takes the chip and the row, whose numbers have precedence over the chip's, and raises BadInput
for an impossible row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from chipmodel.errors import BadInput, placed
from chipmodel.files.suggestions import shown, suggest
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import CdmaDma, Chip, EfPsramDma, HyperBusDma
from chipmodel.hardware.clocks import Clock
from chipmodel.measured.table import MeasuredRow
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, SingleWork, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.luna import ADD_KINDS, RELU_KINDS, SIGMOID_KINDS, op_cost
from chipmodel.timing.controlled import cdma
from chipmodel.timing.controllers import HyperBus, HyperBusRead, ef_protocol
from chipmodel.timing.transfer import route_cycles

Prediction = Mapping[str, Fraction]

WIDTHS = (4, 8, 16, 32)
"""Widths of operands in bits that a table may have."""
TWO_OPERANDS = ("add", "sub", "mul", "div", "max", "min")
VECTOR_OPS = tuple(
    dict.fromkeys((*ADD_KINDS, "mul", "div", *RELU_KINDS, *SIGMOID_KINDS, "softmax", "log_softmax"))
)
EF_CONTROLLER = "EF_PSRAM_CTRL"


def _npu_cycles(chip: Chip, kind: str, work: SingleWork, bits: int = 8) -> Prediction:
    if chip.npu.luna:
        return {"cycles": op_cost(chip.npu.luna, kind, work, bits).cycles}
    op = Op("row", kind, work, ("x",), ("y",), () if isinstance(work, Vector) else ("w",), f"int{bits}")
    return {"cycles": Fraction(op_cycles(chip.npu, op, work.rows, work.channels))}


def conv2d(chip: Chip, row: MeasuredRow) -> Prediction:
    """A plain convolution of int8."""
    return _npu_cycles(chip, "conv", Conv(_window(row), row.whole("in_c"), row.whole("out_c")))


def depthwise2d(chip: Chip, row: MeasuredRow) -> Prediction:
    """A depthwise convolution of int8."""
    in_c, out_c = row.whole("in_c"), row.whole("out_c")
    if out_c % in_c:
        what = f"out_c {out_c} of a depthwise convolution is not a multiple of in_c {in_c}"
        raise BadInput(what, where=row.place("out_c"), hint="correct the row, or choose --kind luna_conv2d")
    return _npu_cycles(chip, "depthwise_conv", Conv(_window(row), in_c, out_c, groups=in_c))


def _window(row: MeasuredRow) -> Window:
    in_h, out_h, kernel_h, pad_h = _axis(row, "h")
    in_w, out_w, kernel_w, pad_w = _axis(row, "w")
    stride = row.whole("stride")
    pads = pad_h, pad_w, pad_h, pad_w
    return Window(in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, stride, *pads)


def _axis(row: MeasuredRow, axis: str) -> tuple[int, int, int, int]:
    """Input, output, kernel and padding of one axis."""
    size, kernel, pad = (row.whole(f"{name}_{axis}") for name in ("in", "kernel", "pad"))
    if kernel > size + 2 * pad:
        what = f"kernel_{axis} {kernel} is larger than in_{axis} {size} with pad_{axis} {pad} on both sides"
        raise BadInput(what, where=row.place(f"kernel_{axis}"), hint="make the kernel fit its padded input")
    return size, (size + 2 * pad - kernel) // row.whole("stride") + 1, kernel, pad


def matmul(chip: Chip, row: MeasuredRow) -> Prediction:
    """A matrix product."""
    bits = row.whole("bits")
    if bits not in WIDTHS:
        known = ", ".join(map(str, WIDTHS))
        raise BadInput(f"bits {bits} is not an operand width", where=row.place("bits"), hint=f"use {known}")
    work = Matmul(row.whole("rows"), row.whole("inner"), row.whole("cols"))
    return _npu_cycles(chip, "matmul", work, bits)


def vector(chip: Chip, row: MeasuredRow) -> Prediction:
    """Element-wise work and softmax on int8."""
    op, elements = row.text("op"), row.whole("elements")
    if op not in VECTOR_OPS:
        what = f"op {shown(op)} is not a vector op"
        raise BadInput(what, where=row.place("op"), hint=suggest(op, VECTOR_OPS, "known ops are"))
    # LUNA's rates are for one operand; the ports of an array move all of them.
    operands = 2 if not chip.npu.luna and op in TWO_OPERANDS else 1
    return _npu_cycles(chip, op, Vector(elements, operands * elements, elements))


def transfer(chip: Chip, row: MeasuredRow) -> Prediction:
    """A transfer on one of the chip's routes."""
    with placed(row.place("route")):
        return {"core_cycles": Fraction(route_cycles(chip, row.text("route"), row.whole("bytes")))}


def _hyperbus(chip: Chip, row: MeasuredRow) -> HyperBus:
    assert isinstance(chip.dma, HyperBusDma)
    dma = replace(
        chip.dma,
        latency_clocks=row.whole("latency_clocks"),
        latency_multiple=row.whole("latency_multiple"),
        max_burst_words=row.whole("max_burst_words"),
    )
    return HyperBus(Clock(row.number("sys_mhz")), Clock(row.number("ck_mhz")), dma)


def hyperbus_read(chip: Chip, row: MeasuredRow) -> Prediction:
    """One read through pulp-platform/hyperbus."""
    read = _hyperbus(chip, row).read(row.whole("bytes"), row.whole("address"))
    return {
        "first_beat_sys_cycle": Fraction(read.first_beat),
        "last_beat_sys_cycle": Fraction(read.last_beat),
        **_pins(read),
    }


def back_to_back(chip: Chip, row: MeasuredRow) -> Prediction:
    """Queued reads through pulp-platform/hyperbus."""
    read = _hyperbus(chip, row).back_to_back(row.whole("reads"), row.whole("bytes_each"))
    return {"total_sys_cycles": Fraction(read.last_beat), **_pins(read)}


def _pins(read: HyperBusRead) -> Prediction:
    return {"cs_low_count": Fraction(read.cs_lows), "ck_clocks": Fraction(read.ck_clocks)}


def ef_psram(chip: Chip, row: MeasuredRow) -> Prediction:
    """One access through efabless/EF_PSRAM_CTRL; a write has no wait."""
    if row.text("controller") != EF_CONTROLLER:
        what = f"controller {shown(row.text('controller'))} is not modelled"
        raise BadInput(what, where=row.place("controller"), hint=f"only {EF_CONTROLLER} is")
    with placed(row.place("command")):
        protocol = ef_protocol(row.text("command"))
    assert isinstance(chip.dma, EfPsramDma)
    wait = row.whole("wait_clocks")
    controller = replace(chip.dma, read_mode=protocol, write_mode=protocol, wait_clocks=wait)
    access = not row.whole("is_read"), row.whole("bytes")
    return {
        "controller_cycles": Fraction(controller.access_cycles(*access)),
        "sck_clocks": Fraction(controller.sck_clocks(*access)),
    }


def axi_cdma(chip: Chip, row: MeasuredRow) -> Prediction:
    """One copy by axi_cdma."""
    bits = row.whole("data_bits")
    if bits % 8 or bits & (bits - 1):
        what = f"data_bits {bits} is not a width of an AXI bus"
        raise BadInput(what, where=row.place("data_bits"), hint="use 8, 16, 32 ... 1024")
    assert isinstance(chip.dma, CdmaDma)
    beats = row.whole("max_burst_beats")
    engine = cdma(replace(chip.dma, data_bits=bits, max_burst_beats=beats))
    copy = engine.copy(row.whole("src"), row.whole("dst"), row.whole("bytes"))
    return {
        "cycles": Fraction(copy.cycles),
        "read_bursts": Fraction(copy.reads),
        "write_bursts": Fraction(copy.writes),
    }
