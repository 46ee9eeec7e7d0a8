"""The kinds of tables that the model can be compared with.

The columns are those of the published figures in tests/data/hardware (see the README there).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.measured.models import (
    axi_cdma,
    back_to_back,
    conv2d,
    depthwise2d,
    ef_psram,
    hyperbus_read,
    matmul,
    transfer,
    vector,
)
from chipmodel.measured.table import MeasuredRow, TableColumn, TableKind


def _wholes(names: str, least: int = 1, most: int = 1 << 20) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name, "whole", Fraction(least), Fraction(most)) for name in names.split())


def _whole(name: str, least: int, most: int, field: str | None = None) -> TableColumn:
    return TableColumn(name, "whole", Fraction(least), Fraction(most), field)


def _mhz(name: str, field: str) -> TableColumn:
    return TableColumn(name, "decimal", Fraction(1, 1000), Fraction(100_000), field)


def _text(name: str) -> TableColumn:
    return TableColumn(name, "text")


def _softmax(row: MeasuredRow) -> bool:
    return row.text("op") in ("softmax", "log_softmax")


_CONV = (
    *_wholes("in_c in_h in_w out_c", most=1 << 16),
    *_wholes("kernel_h kernel_w stride", most=4096),
    *_wholes("pad_h pad_w", least=0, most=4096),
)
_BYTES = TableColumn("bytes")
_ADDRESSES = (0, 1 << 48)
_HYPERBUS = (
    _mhz("sys_mhz", "core_mhz"),
    _mhz("ck_mhz", "psram.clock_mhz"),
    _whole("latency_clocks", 1, 64, "dma.hyperbus.latency_clocks"),
    _whole("latency_multiple", 1, 2, "dma.hyperbus.latency_multiple"),
    _whole("max_burst_words", 1, 10**9, "dma.hyperbus.max_burst_words"),
)

_ALL = (
    TableKind("luna_conv2d", "luna-arcs", _CONV, "cycles", conv2d),
    TableKind("luna_depthwise2d", "luna-arcs", _CONV, "cycles", depthwise2d),
    TableKind("luna_matmul", "luna-arcs", _wholes("rows inner cols bits"), "cycles", matmul),
    TableKind(
        "luna_vector",
        "luna-arcs",
        (_text("op"), TableColumn("elements")),
        "cycles",
        vector,
        parts={"softmax": _softmax, "others": lambda row: not _softmax(row)},
    ),
    TableKind(
        "luna_transfer",
        "luna-arcs",
        (_text("route"), _BYTES),
        "core_cycles",
        transfer,
        parts={
            "from_1KiB": lambda row: row.whole("bytes") >= 1024,
            "below_1KiB": lambda row: row.whole("bytes") < 1024,
        },
    ),
    TableKind(
        "rtl_hyperbus_read",
        "pulp-hyperbus",
        (*_HYPERBUS, _BYTES, _whole("address", *_ADDRESSES)),
        "last_beat_sys_cycle",
        hyperbus_read,
        ("first_beat_sys_cycle", "cs_low_count", "ck_clocks"),
        dma_model="hyperbus",
    ),
    TableKind(
        "rtl_hyperbus_back_to_back",
        "pulp-hyperbus",
        (*_HYPERBUS, _whole("reads", 1, 100_000), TableColumn("bytes_each")),
        "total_sys_cycles",
        back_to_back,
        ("cs_low_count", "ck_clocks"),
        dma_model="hyperbus",
    ),
    TableKind(
        "rtl_axi_cdma",
        "axi-cdma",
        (
            _whole("data_bits", 8, 1024, "dma.cdma.data_bits"),
            _whole("max_burst_beats", 1, 256, "dma.cdma.max_burst_beats"),
            _whole("src", *_ADDRESSES),
            _whole("dst", *_ADDRESSES),
            _BYTES,
        ),
        "cycles",
        axi_cdma,
        ("read_bursts", "write_bursts"),
        dma_model="cdma",
    ),
    TableKind(
        "rtl_ef_psram",
        "ef-psram",
        (
            _text("controller"),
            _text("command"),
            _whole("is_read", 0, 1),
            _BYTES,
            _whole("wait_clocks", 0, 64, "dma.ef_psram.wait_clocks"),
        ),
        "controller_cycles",
        ef_psram,
        ("sck_clocks",),
        dma_model="ef-psram",
    ),
)

KINDS: Mapping[str, TableKind] = {kind.name: kind for kind in _ALL}
"""All kinds by name, in the order in which messages list them."""
