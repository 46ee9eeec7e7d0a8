"""The kinds of tables that the model can be compared with, and what it predicts for a row of each.

The columns are those of the published figures in tests/data/hardware (see the README beside them).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.chip import Chip
from chipmodel.clocks import Clock
from chipmodel.errors import BadInput
from chipmodel.near import shown, suggest
from chipmodel.npu import work_cycles
from chipmodel.npu_luna import ADDING, CURVES, GATING, op_cost
from chipmodel.work import Conv, Matmul, Vector, Window, Work
from dma.cdma import AxiCdma
from dma.controllers import EfPsram, HyperBus, Read, ef_protocol
from dma.validation_table import Column, Kind, Row

Answer = Mapping[str, Fraction]

WIDTHS = (4, 8, 16, 32)
"""Bits of operands that an NPU is asked for."""
TWO_OPERANDS = ("add", "sub", "mul", "div", "max", "min")
VECTOR_OPS = tuple(dict.fromkeys((*ADDING, "mul", "div", *GATING, *CURVES, "softmax", "log_softmax")))
EF_CONTROLLER = "EF_PSRAM_CTRL"


def _npu_cycles(chip: Chip | None, kind: str, work: Work, bits: int = 8) -> Answer:
    assert chip is not None, "a table of the NPU is compared with a chip"
    if chip.npu.luna:
        return {"cycles": op_cost(chip.npu.luna, kind, work, bits).cycles}
    return {"cycles": Fraction(work_cycles(chip.npu, work, f"int{bits}"))}


def _conv2d(chip: Chip | None, row: Row) -> Answer:
    return _npu_cycles(chip, "conv", Conv(_window(row), row.whole("in_c"), row.whole("out_c")))


def _depthwise2d(chip: Chip | None, row: Row) -> Answer:
    in_c, out_c = row.whole("in_c"), row.whole("out_c")
    if out_c % in_c:
        what = f"out_c {out_c} of a depthwise convolution is no multiple of in_c {in_c}"
        raise BadInput(what, where=row.place("out_c"), mend="mend the row, or choose --kind luna_conv2d")
    return _npu_cycles(chip, "depthwise_conv", Conv(_window(row), in_c, out_c, groups=in_c))


def _window(row: Row) -> Window:
    in_h, out_h, kernel_h, pad_h = _axis(row, "h")
    in_w, out_w, kernel_w, pad_w = _axis(row, "w")
    stride = row.whole("stride")
    pads = pad_h, pad_w, pad_h, pad_w
    return Window(in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride, stride, *pads)


def _axis(row: Row, axis: str) -> tuple[int, int, int, int]:
    """Input, output, kernel and padding of one axis."""
    size, kernel, pad = (row.whole(f"{name}_{axis}") for name in ("in", "kernel", "pad"))
    if kernel > size + 2 * pad:
        what = f"kernel_{axis} {kernel} is larger than in_{axis} {size} with pad_{axis} {pad} on both sides"
        raise BadInput(what, where=row.place(f"kernel_{axis}"), mend="make the kernel fit its padded input")
    if pad >= kernel and pad:
        what = f"pad_{axis} {pad} is not below kernel_{axis} {kernel}: outputs would see padding only"
        raise BadInput(what, where=row.place(f"pad_{axis}"), mend="pad by less than the kernel")
    return size, (size + 2 * pad - kernel) // row.whole("stride") + 1, kernel, pad


def _matmul(chip: Chip | None, row: Row) -> Answer:
    bits = row.whole("bits")
    if bits not in WIDTHS:
        known = ", ".join(map(str, WIDTHS))
        raise BadInput(f"bits {bits} is no width of operands", where=row.place("bits"), mend=f"use {known}")
    work = Matmul(row.whole("rows"), row.whole("inner"), row.whole("cols"))
    return _npu_cycles(chip, "matmul", work, bits)


def _vector(chip: Chip | None, row: Row) -> Answer:
    op, elements = row.text("op"), row.whole("elements")
    if op not in VECTOR_OPS:
        what = f"op {shown(op)} is no vector op"
        raise BadInput(what, where=row.place("op"), mend=suggest(op, VECTOR_OPS, "known ops are"))
    # LUNA's paces are of each operand; the ports of an array take all of them.
    operands = 2 if chip and not chip.npu.luna and op in TWO_OPERANDS else 1
    return _npu_cycles(chip, op, Vector(elements, operands * elements, elements))


def _transfer(chip: Chip | None, row: Row) -> Answer:
    from dma.timing import route_cycles

    assert chip is not None, "a table of transfers is compared with a chip"
    try:
        return {"core_cycles": Fraction(route_cycles(chip, row.text("route"), row.whole("bytes")))}
    except BadInput as error:
        raise BadInput(error.what, where=row.place("route"), mend=error.mend) from None


def _hyperbus(row: Row) -> HyperBus:
    keys = ("latency_clocks", "latency_multiple", "max_burst_words")
    return HyperBus(Clock(row.number("sys_mhz")), Clock(row.number("ck_mhz")), *map(row.whole, keys))


def _hyperbus_read(_: Chip | None, row: Row) -> Answer:
    read = _hyperbus(row).read(row.whole("bytes"), row.whole("address"))
    return {
        "first_beat_sys_cycle": Fraction(read.first_beat),
        "last_beat_sys_cycle": Fraction(read.last_beat),
        **_pins(read),
    }


def _back_to_back(_: Chip | None, row: Row) -> Answer:
    read = _hyperbus(row).back_to_back(row.whole("reads"), row.whole("bytes_each"))
    return {"total_sys_cycles": Fraction(read.last_beat), **_pins(read)}


def _pins(read: Read) -> Answer:
    return {"cs_low_count": Fraction(read.cs_lows), "ck_clocks": Fraction(read.ck_clocks)}


def _ef_psram(_: Chip | None, row: Row) -> Answer:
    if row.text("controller") != EF_CONTROLLER:
        what = f"controller {shown(row.text('controller'))} is not modelled"
        raise BadInput(what, where=row.place("controller"), mend=f"only {EF_CONTROLLER} is")
    try:
        protocol = ef_protocol(row.text("command"))
    except BadInput as error:
        raise BadInput(error.what, where=row.place("command"), mend=error.mend) from None
    wait = row.whole("wait_clocks") if row.whole("is_read") else 0
    access = protocol, row.whole("bytes"), wait
    return {
        "controller_cycles": Fraction(EfPsram().cycles(*access)),
        "sck_clocks": Fraction(EfPsram().sck_clocks(*access)),
    }


def _axi_cdma(_: Chip | None, row: Row) -> Answer:
    bits = row.whole("data_bits")
    if bits % 8 or bits & (bits - 1):
        what = f"data_bits {bits} is no width of an AXI bus"
        raise BadInput(what, where=row.place("data_bits"), mend="use 8, 16, 32 ... 1024")
    engine = AxiCdma(bits, row.whole("max_burst_beats"))
    copy = engine.copy(row.whole("src"), row.whole("dst"), row.whole("bytes"))
    return {
        "cycles": Fraction(copy.cycles),
        "read_bursts": Fraction(copy.reads),
        "write_bursts": Fraction(copy.writes),
    }


def _wholes(names: str, least: int = 1, most: int = 1 << 20) -> tuple[Column, ...]:
    return tuple(Column(name, "whole", Fraction(least), Fraction(most)) for name in names.split())


def _whole(name: str, least: int, most: int, default: int | None = None) -> Column:
    return Column(name, "whole", Fraction(least), Fraction(most), default)


def _text(name: str) -> Column:
    return Column(name, "text")


_MHZ = tuple(
    Column(name, "decimal", Fraction(1, 1000), Fraction(100_000)) for name in ("sys_mhz", "ck_mhz")
)
_CONV = (
    *_wholes("in_c in_h in_w out_c", most=1 << 16),
    *_wholes("kernel_h kernel_w stride", most=4096),
    *_wholes("pad_h pad_w", least=0, most=4096),
)
_BYTES = Column("bytes")
_ADDRESSES = (0, 1 << 48)
_FOREVER = 10**9

_ALL = (
    Kind("luna_conv2d", "luna-arcs", _CONV, "cycles", _conv2d),
    Kind("luna_depthwise2d", "luna-arcs", _CONV, "cycles", _depthwise2d),
    Kind("luna_matmul", "luna-arcs", _wholes("rows inner cols bits"), "cycles", _matmul),
    Kind(
        "luna_vector",
        "luna-arcs",
        (_text("op"), Column("elements")),
        "cycles",
        _vector,
        parts={
            "softmax": lambda row: row.text("op") in ("softmax", "log_softmax"),
            "others": lambda row: row.text("op") not in ("softmax", "log_softmax"),
        },
    ),
    Kind(
        "luna_transfer",
        "luna-arcs",
        (_text("route"), _BYTES),
        "core_cycles",
        _transfer,
        parts={
            "from_1KiB": lambda row: row.whole("bytes") >= 1024,
            "below_1KiB": lambda row: row.whole("bytes") < 1024,
        },
    ),
    Kind(
        "rtl_hyperbus_read",
        "pulp-hyperbus",
        (
            *_MHZ,
            _whole("latency_clocks", 1, 64),
            _whole("latency_multiple", 1, 2),
            _whole("max_burst_words", 1, _FOREVER),
            _BYTES,
            _whole("address", *_ADDRESSES),
        ),
        "last_beat_sys_cycle",
        _hyperbus_read,
        ("first_beat_sys_cycle", "cs_low_count", "ck_clocks"),
        controller=True,
    ),
    Kind(
        "rtl_hyperbus_back_to_back",
        "pulp-hyperbus",
        (
            *_MHZ,
            _whole("reads", 1, 100_000),
            Column("bytes_each"),
            # What the measured ones had; a table of one's own may say otherwise.
            _whole("latency_clocks", 1, 64, 6),
            _whole("latency_multiple", 1, 2, 1),
            _whole("max_burst_words", 1, _FOREVER, 350),
        ),
        "total_sys_cycles",
        _back_to_back,
        ("cs_low_count", "ck_clocks"),
        controller=True,
    ),
    Kind(
        "rtl_axi_cdma",
        "axi-cdma",
        (
            *_wholes("data_bits", least=8, most=1024),
            *_wholes("max_burst_beats", most=256),
            _whole("src", *_ADDRESSES),
            _whole("dst", *_ADDRESSES),
            _BYTES,
        ),
        "cycles",
        _axi_cdma,
        ("read_bursts", "write_bursts"),
        controller=True,
    ),
    Kind(
        "rtl_ef_psram",
        "ef-psram",
        (
            _text("controller"),
            _text("command"),
            _whole("is_read", 0, 1),
            _BYTES,
            _whole("wait_clocks", 0, 64),
        ),
        "controller_cycles",
        _ef_psram,
        ("sck_clocks",),
        controller=True,
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL}
"""All kinds by name, in the order in which messages list them."""
