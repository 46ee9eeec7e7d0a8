"""Every field of a chip file by its dotted path: its type, limits and default, and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, get_args

from chipmodel.entry_points import plugin_names
from chipmodel.errors import BadInput, Place
from chipmodel.files.sizes import format_bytes, parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip import CPU_KINDS, InPlaceWish, OperandTime, VendorStreamer
from chipmodel.hardware.energy import COUNTED
from chipmodel.hardware.ethos_npu import OUTPUT_RATES
from chipmodel.hardware.further_memories import GROUP, memory_names, memory_path
from chipmodel.hardware.plugin_npu import Parameter, parameters_of
from chipmodel.hardware.psram_parts import DEVICES
from chipmodel.hardware.vector_cpu import KERNELS
from chipmodel.records import dataclass

Kind = Literal["bytes", "whole", "rational", "choice"]

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
# Short numbers only: Fraction("1e999999999") would compute for ever.
_RATIONAL = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][-+]?[0-9]{1,2})?")
_RATIO = re.compile(r"[-+]?[0-9]{1,18}/0*[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Field:
    """Type and limits of one field; ``low`` and ``high`` are both allowed."""

    kind: Kind
    low: Fraction
    high: Fraction
    unit: str
    power_of_two: bool = False
    options: tuple[str, ...] = ()
    only: tuple[str, tuple[str, ...]] | None = None
    """The choice (field, options) that the field depends on; a chip with another option does not have it."""
    default: str | None = None
    """The value where a chip file does not give one; empty for a field that may stay unknown."""

    def belongs(self, choices: Mapping[str, str]) -> bool:
        """Whether a chip with these choices has the field."""
        return self.only is None or choices.get(self.only[0]) in self.only[1]

    def limit(self, value: Fraction) -> str:
        """``value`` with its unit."""
        if self.kind == "bytes":
            return format_bytes(int(value))
        text = f"{int(value):,}" if value.denominator == 1 else f"{float(value):g}"
        return f"{text} {self.unit}"


def _sizes(low: int, high: int) -> Field:
    return Field("bytes", Fraction(low), Fraction(high), "bytes")


def _wholes(low: int, high: int, unit: str) -> Field:
    return Field("whole", Fraction(low), Fraction(high), unit)


def _rationals(low: str, high: int, unit: str) -> Field:
    return Field("rational", Fraction(low), Fraction(high), unit)


def _choice(*options: str) -> Field:
    return Field("choice", Fraction(0), Fraction(0), "", options=options)


def _with(choice: str, *options: str) -> Callable[[Field], Field]:
    """Mark a field that only chips with one of these ``options`` of ``choice`` have."""
    return lambda field: replace(field, only=(choice, options))


_banks = _with("shared_memory.model", "banks")
_own_memory = _with("weights.memory", "flash", "mram", "sram")
_in_place = _with("weights.in_place", "allowed", "always")
_line = _with("dma.model", "line")
_bursts = _with("dma.model", "bursts")
_hyperbus = _with("dma.model", "hyperbus")
_cdma = _with("dma.model", "cdma")
_ef = _with("dma.model", "ef-psram")
_dram = _with("dma.model", "dram")
_clocked = _with("dma.model", "line", "bursts", "hyperbus", "dram")
_selected = _with("dma.model", "hyperbus", "ef-psram")
_array = _with("npu.model", "array")
_launched = _with("npu.model", "array", "vector-cpu", "ne16")
_luna = _with("npu.model", "luna")
_vector = _with("npu.model", "vector-cpu")
_ethos = _with("npu.model", "ethos-u55")
_ethos_u85 = _with("npu.model", "ethos-u85")
_any_ethos = _with("npu.model", "ethos-u55", "ethos-u85")
_ne16 = _with("npu.model", "ne16")
_counted = _with("energy.model", "counted")


def _default(text: str, field: Field) -> Field:
    return replace(field, default=text)


_CLOCK = _rationals("0.001", 100_000, "MHz")
_LANES = _wholes(1, 65_536, "lanes")
_MACS = _rationals("0.001", 10**9, "MACs a cycle")
_PORT = _rationals("0.001", 10**6, "bytes a cycle")
_SETUP = _wholes(0, 10**9, "core cycles")
_BURST = _wholes(1, 1 << 30, "bytes")
_BANKS = _wholes(1, 64, "banks")
_OUTPUT = _rationals("0.001", 1000, "cycles an element")
_OVERHEAD = _rationals("0", 10**6, "Psram clocks")
_DRAM_CLOCKS = _dram(_wholes(1, 1000, "Psram clocks"))
_DRAM_TIMES = ("rcd", "rp", "rp_all", "ras", "rtp", "wr", "wtr", "rrd", "faw", "rfc", "refi")
_VOLTS = _rationals("0.1", 10, "volts")
_PJ = _rationals("0", 10**9, "picojoules")

# The limits are wide: they catch typing errors and absurdly long numbers, not unusual chips.
FIELDS: Mapping[str, Field] = {
    "core_mhz": _CLOCK,
    "cores": _default("1", _wholes(1, 64, "cores")),
    "shared_memory.bytes": _sizes(256, 1 << 40),
    "shared_memory.alignment": Field("whole", Fraction(1), Fraction(1 << 20), "bytes", power_of_two=True),
    "shared_memory.model": _default("flat", _choice("flat", "banks")),
    "shared_memory.banks.count": _banks(_wholes(1, 1024, "banks")),
    "shared_memory.banks.word_bytes": _banks(_wholes(1, 4096, "bytes")),
    "shared_memory.banks.interleave": _banks(_choice("words", "blocks")),
    "shared_memory.banks.ports": _banks(_wholes(1, 4, "ports")),
    "shared_memory.banks.arbitration": _banks(_choice("npu first", "dma first", "round robin")),
    "weights.memory": _default("psram", _choice("psram", "flash", "mram", "sram")),
    "weights.bytes": _own_memory(_sizes(256, 1 << 50)),
    "weights.clock_mhz": _own_memory(_CLOCK),
    "weights.bytes_per_clock": _own_memory(_rationals("0.001", 10**6, "bytes a clock")),
    "weights.setup_cycles": _own_memory(_SETUP),
    "weights.burst_bytes": _own_memory(_BURST),
    "weights.burst_overhead_clocks": _own_memory(_rationals("0", 10**6, "clocks of that memory")),
    "weights.in_place": _default("no", _choice(*get_args(InPlaceWish))),
    "weights.in_place_bytes_per_cycle": _default("0", _in_place(_rationals("0", 10**6, "bytes a cycle"))),
    "weights.in_place_latency_cycles": _default("0", _in_place(_SETUP)),
    "weights.bits_per_weight": _default("0", _wholes(0, 8, "bits")),
    "weights.padded_channels": _default("1", _wholes(1, 1024, "channels")),
    "weights.bytes_per_channel": _default("0", _wholes(0, 4096, "bytes")),
    "psram.bytes": _sizes(256, 1 << 50),
    "psram.clock_mhz": _clocked(_CLOCK),
    "psram.bytes_per_clock": _line(_rationals("0.001", 10**6, "bytes a clock")),
    "psram.device": _bursts(_choice(*DEVICES)),
    "psram.collision": _bursts(_choice("none", "expected", "worst", "phase")),
    "psram.ce_low_max_us": _selected(_rationals("0.001", 10**6, "microseconds")),
    "psram.ce_high_ns": _selected(_rationals("0", 10**6, "nanoseconds")),
    "psram.dram.bus_bits": _dram(replace(_wholes(8, 1024, "bits"), power_of_two=True)),
    "psram.dram.transfers_per_clock": _dram(replace(_wholes(1, 16, "transfers"), power_of_two=True)),
    "psram.dram.burst_length": _dram(replace(_wholes(1, 64, "transfers"), power_of_two=True)),
    "psram.dram.row_bytes": _dram(replace(_wholes(64, 1 << 20, "bytes"), power_of_two=True)),
    "psram.dram.banks": _dram(_wholes(1, 1024, "banks")),
    **{f"psram.dram.{each}_clocks": _DRAM_CLOCKS for each in ("ccd", "read_latency", "write_latency")},
    **{f"psram.dram.t_{t}_ns": _dram(_rationals("0", 10**6, "nanoseconds")) for t in _DRAM_TIMES},
    "psram.dram.refresh": _default("all-bank", _dram(_choice("all-bank", "per-bank"))),
    "dma.model": _choice("line", "bursts", "hyperbus", "cdma", "ef-psram", "dram"),
    "dma.channels": _default("1", _wholes(1, 64, "channels")),
    "dma.arbitration": _default("in order", _choice("in order", "round robin")),
    "dma.strided": _default("yes", _choice("yes", "no")),
    "dma.outstanding": _default("1", _line(_wholes(1, 64, "bursts"))),
    "dma.port_bytes": _default("8", _line(_wholes(1, 4096, "bytes"))),
    "dma.load.setup_cycles": _line(_SETUP),
    "dma.load.burst_bytes": _line(_BURST),
    "dma.load.burst_overhead_clocks": _line(_OVERHEAD),
    "dma.store.setup_cycles": _line(_SETUP),
    "dma.store.burst_bytes": _line(_BURST),
    "dma.store.burst_overhead_clocks": _line(_OVERHEAD),
    "dma.bursts.setup_cycles": _bursts(_SETUP),
    "dma.bursts.beat_bytes": _bursts(_wholes(1, 4096, "bytes")),
    "dma.bursts.burst_beats": _bursts(_wholes(1, 65_536, "beats")),
    "dma.bursts.gap_cycles": _bursts(_wholes(0, 10**6, "core cycles")),
    "dma.bursts.prefetch_lines": _bursts(_wholes(0, 4096, "bursts")),
    "dma.bursts.crossing_clocks": _bursts(_wholes(0, 10**6, "Psram clocks")),
    "dma.bursts.short_bytes": _bursts(_wholes(0, 1 << 20, "bytes")),
    "dma.bursts.overlap": _default("no", _bursts(_choice("no", "yes"))),
    "dma.hyperbus.setup_cycles": _hyperbus(_SETUP),
    "dma.hyperbus.latency_clocks": _hyperbus(_wholes(1, 64, "Psram clocks")),
    "dma.hyperbus.latency_multiple": _hyperbus(_wholes(1, 2, "times the latency")),
    "dma.hyperbus.max_burst_words": _hyperbus(_wholes(1, 10**9, "words of 2 bytes")),
    "dma.hyperbus.request_beats": _hyperbus(_wholes(1, 256, "beats")),
    "dma.hyperbus.bus_bytes": _hyperbus(replace(_wholes(2, 128, "bytes"), power_of_two=True)),
    "dma.hyperbus.request_cycles": _hyperbus(_SETUP),
    "dma.hyperbus.response_cycles": _hyperbus(_SETUP),
    "dma.hyperbus.turnaround_cycles": _hyperbus(_SETUP),
    "dma.hyperbus.fixed_clocks": _hyperbus(_wholes(3, 10**6, "Psram clocks")),
    "dma.hyperbus.segment_clocks": _hyperbus(_wholes(3, 10**6, "Psram clocks")),
    "dma.hyperbus.round_trip_ns": _hyperbus(_rationals("0", 1000, "nanoseconds")),
    "dma.cdma.setup_cycles": _cdma(_SETUP),
    "dma.cdma.data_bits": _cdma(replace(_wholes(8, 1024, "bits"), power_of_two=True)),
    "dma.cdma.max_burst_beats": _cdma(_wholes(1, 256, "beats")),
    "dma.cdma.boundary_bytes": _cdma(replace(_wholes(128, 1 << 20, "bytes"), power_of_two=True)),
    "dma.ef_psram.setup_cycles": _ef(_SETUP),
    "dma.ef_psram.read_mode": _ef(_choice("QPI", "1-4-4", "SPI")),
    "dma.ef_psram.write_mode": _ef(_choice("QPI", "1-4-4", "SPI")),
    "dma.ef_psram.wait_clocks": _ef(_wholes(0, 64, "SCK clocks")),
    "dma.ef_psram.access_bytes": _ef(replace(_wholes(1, 4, "bytes"), power_of_two=True)),
    "dma.ef_psram.clocks_per_sck": _ef(_wholes(1, 1024, "core cycles")),
    "dma.ef_psram.frame_cycles": _ef(_wholes(1, 10**6, "core cycles")),
    "dma.ef_psram.gap_cycles": _ef(_SETUP),
    "dma.dram.setup_cycles": _dram(_SETUP),
    "dma.dram.burst_bytes": _dram(_BURST),
    "dma.dram.queue": _dram(_wholes(1, 4096, "accesses")),
    "npu.model": _choice("array", "luna", "vector-cpu", "ethos-u55", "ethos-u85", "ne16"),
    "npu.macs_per_cycle.int8": _MACS,
    "npu.macs_per_cycle.int16": _MACS,
    "npu.macs_per_cycle.int32": _MACS,
    "npu.array.input_channels": _LANES,
    "npu.array.output_channels": _LANES,
    "npu.array.columns": _LANES,
    "npu.read_bytes_per_cycle": _PORT,
    "npu.write_bytes_per_cycle": _PORT,
    "npu.launch_cycles": _default("0", _launched(_SETUP)),
    "npu.operands": _default("free", _array(_choice(*get_args(OperandTime)))),
    "npu.window_elements_per_cycle": _default("0", _array(_rationals("0", 10**9, "a cycle"))),
    "npu.tap_cycles": _default("0", _array(_rationals("0", 10**6, "core cycles"))),
    "npu.output_cycles": _default("0", _array(_rationals("0", 10**6, "core cycles"))),
    "npu.depthwise_kernel": _default("0", _array(_wholes(0, 64, "rows and columns"))),
    "npu.rolling_buffers": _default("true", _choice("true", "false")),
    "npu.luna.input_buffer_bytes": _luna(_sizes(256, 1 << 30)),
    "npu.luna.weight_buffer_bytes": _luna(_sizes(256, 1 << 30)),
    "npu.luna.conv_configuration_cycles": _luna(_SETUP),
    "npu.luna.depthwise_configuration_cycles": _luna(_SETUP),
    "npu.luna.matmul_configuration_cycles": _luna(_SETUP),
    "npu.luna.later_pass_saving_cycles": _luna(_SETUP),
    "npu.luna.piece_configuration_cycles": _luna(_SETUP),
    "npu.luna.piece_channel_cycles": _luna(_SETUP),
    "npu.vector.kernels": _vector(_choice(*KERNELS)),
    "npu.vector.cores": _default("1", _vector(_wholes(1, 2, "cores"))),
    "npu.vector.cache.bytes": _vector(_sizes(256, 1 << 30)),
    "npu.vector.cache.ways": _vector(_wholes(1, 1024, "ways")),
    "npu.vector.cache.line_bytes": _vector(replace(_wholes(4, 4096, "bytes"), power_of_two=True)),
    "npu.vector.weight_line_cycles": _vector(_rationals("0", 10**6, "core cycles")),
    "npu.vector.first_cache.bytes": _default("0", _vector(_sizes(0, 1 << 30))),
    "npu.vector.first_cache.ways": _default("1", _vector(_wholes(1, 1024, "ways"))),
    "npu.vector.first_cache.line_bytes": _default(
        "64", _vector(replace(_wholes(4, 4096, "bytes"), power_of_two=True))
    ),
    "npu.vector.first_cache.line_cycles": _default("0", _vector(_rationals("0", 10**6, "core cycles"))),
    **{f"npu.ethos.micro_block.{side}": _ethos(_LANES) for side in ("height", "width", "depth")},
    "npu.ethos.cores": _default("1", _ethos(_wholes(1, 2, "arrays"))),
    "npu.ethos.shram.banks": _ethos(_wholes(4, 4096, "banks of 1 KiB")),
    "npu.ethos.shram.input_granule_banks": _ethos(_BANKS),
    "npu.ethos.shram.accumulator_granule_banks": _ethos(_BANKS),
    "npu.ethos.shram.wide_accumulator_granule_banks": _ethos(_BANKS),
    "npu.ethos.delay_cycles": _ethos(_SETUP),
    "npu.ethos.wide_delay_cycles": _ethos(_SETUP),
    **{f"npu.ethos.output_cycles.{kind}": _ethos(_OUTPUT) for kind in OUTPUT_RATES},
    "npu.ethos.compiler": _default("vela-4.5", _any_ethos(_choice("vela-4.5", "vela-5.2"))),
    "npu.ethos.border_blocks": _default("inside", _ethos(_choice("inside", "whole"))),
    "npu.ethos.weights_on_port": _default("yes", _any_ethos(_choice("yes", "no"))),
    "npu.ethos.sram.read_latency_cycles": _any_ethos(_SETUP),
    "npu.ethos.sram.write_latency_cycles": _any_ethos(_SETUP),
    "npu.ethos.sram.burst_bytes": _any_ethos(_BURST),
    "npu.ethos.sram.bytes_per_cycle": _ethos_u85(_PORT),
    "npu.ne16.cluster_macs_per_cycle": _ne16(_MACS),
    "npu.ne16.cluster_output_cycles": _default("0", _ne16(_rationals("0", 10**6, "core cycles"))),
    "vendor.streamer": _default("ping-pong", _choice(*get_args(VendorStreamer))),
    "vendor.cascades": _default("no", _choice("no", "yes")),
    "vendor.tensor_share": _default(
        "1", Field("rational", Fraction(1, 1000), Fraction(1), "of SharedMemory")
    ),
    "vendor.pool_bytes": _default("0", _sizes(0, 1 << 40)),
    "vendor.psram_byte_cycles": _default("0", _rationals("0", 10**6, "core cycles")),
    "vendor.run_cycles": _default("0", _SETUP),
    "vendor.kernel_rows": _default("0", _wholes(0, 1000, "rows")),
    "vendor.copy_cycles": _default("0", _rationals("0", 10**6, "core cycles")),
    "vendor.block_bytes": _default("0", _sizes(0, 1 << 40)),
    **{
        f"cpu.cycles_per_element.{kind}": _default("0", _array(_rationals("0", 10**6, "core cycles")))
        for kind in CPU_KINDS
    },
    "cpu.shared_every_cycles": _default("0", _SETUP),
    "cpu.psram_every_cycles": _default("0", _SETUP),
    "cpu.line_bytes": _default("32", _wholes(1, 4096, "bytes")),
    "energy.model": _default("unknown", _choice("unknown", "counted")),
    "energy.volts": _default("1", _counted(_VOLTS)),
    "energy.nominal_volts": _default("1", _counted(_VOLTS)),
    "energy.static_mw": _default("0", _counted(_rationals("0", 10**6, "milliwatts"))),
    **{f"energy.pj.{each}": _default("0", _counted(_PJ)) for each in COUNTED},
}

FURTHER: Mapping[str, Field] = {
    "bytes": _sizes(256, 1 << 40),
    "load.latency_cycles": _default("0", _SETUP),
    "load.bytes_per_cycle": _PORT,
    "load.pj_per_byte": _default("", _counted(_PJ)),
    "store.latency_cycles": _default("0", _SETUP),
    "store.bytes_per_cycle": _PORT,
    "store.pj_per_byte": _default("", _counted(_PJ)),
}
"""The fields of each memory below ``memories``, by its keys."""

MODEL = "npu.model"


def children(path: str) -> tuple[str, ...]:
    """The keys directly below the group ``path`` ("" for the whole file); empty for a field."""
    inside = memory_path(path)
    if path == GROUP or inside:
        return _children(inside[1] if inside else "", FURTHER) if inside else ("NAME",)
    found = _children(path, FIELDS) or tuple(each[len(path) + 1 :] for each in _plugin_fields(path))
    return found if path else (*found, GROUP)


def _children(path: str, fields: Iterable[str]) -> tuple[str, ...]:
    prefix = f"{path}." if path else ""
    return tuple(dict.fromkeys(f[len(prefix) :].split(".")[0] for f in fields if f.startswith(prefix)))


def field_at(path: str) -> Field | None:
    """The field of that path, also of further memories and plug-ins; None for none. Raises PluginFault."""
    inside = memory_path(path)
    found = FURTHER.get(inside[1]) if inside else FIELDS.get(path)
    return found or _plugin_fields(path.rpartition(".")[0]).get(path)


def fields_with(choices: Mapping[str, str], given: Iterable[str]) -> Mapping[str, Field]:
    """All fields: also those of the plug-in that is the NPU model of these choices, and of the memories that
    have any of the fields ``given``."""
    further = {f"{GROUP}.{name}.{key}": each for name in memory_names(given) for key, each in FURTHER.items()}
    return {**FIELDS, **_plugin_fields(f"npu.{choices.get(MODEL, '')}"), **further}


def _plugin_fields(group: str) -> Mapping[str, Field]:
    """The fields in ``npu.NAME`` of the NPU model NAME that is a plug-in; empty where there is none."""
    top, _, name = group.partition(".")
    if top != "npu" or not name or any(path.startswith(f"{group}.") for path in FIELDS):
        return {}
    return {f"{group}.{key}": _field_of(name, each) for key, each in parameters_of(name).items()}


def _field_of(model: str, parameter: Parameter) -> Field:
    kind: Kind = "whole" if parameter.whole else "rational"
    low, high = Fraction(parameter.low), Fraction(parameter.high)
    only = (MODEL, (model,))
    return Field(kind, low, high, parameter.unit, only=only, default=parameter.default)


def read_choice(path: str, text: str, where: Place) -> str:
    """One of the field's options. Raises ``BadInput`` at ``where`` for anything else."""
    options = FIELDS[path].options
    if path == MODEL and text not in options:
        options = (*options, *plugin_names("NPU model", (*options, *children("npu"))))
    if text not in options:
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=f"one of {', '.join(options)}")
    return text


def read_number(path: str, text: str, where: Place) -> Fraction:
    """The exact value of ``text`` for the field ``path``.

    Raises ``BadInput`` at ``where`` if it is not of the field's type or outside its limits.
    """
    field = field_at(path)
    assert field is not None, f"{path} is a field"
    value = _bytes(path, text, where) if field.kind == "bytes" else _plain(path, field, text, where)
    if not field.low <= value <= field.high:
        low = field.limit(field.low).removesuffix(f" {field.unit}")
        limits = f"between {low} and {field.limit(field.high)}"
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=f"write a number {limits}")
    if field.power_of_two and int(value).bit_count() != 1:
        hint = "write a power of two, such as 1, 4 or 16"
        raise BadInput(f"{path} is {shown_text(text)}", where=where, hint=hint)
    return value


def shown_text(text: str) -> str:
    """``text`` for a message: without quotes where it is a number."""
    return text if _RATIONAL.fullmatch(text) else shown(text)


def _bytes(path: str, text: str, where: Place) -> Fraction:
    try:
        return Fraction(parse_bytes(text))
    except BadInput as error:
        raise BadInput(f"{path}: {error.what}", where=where, hint=error.hint) from None


def _plain(path: str, field: Field, text: str, where: Place) -> Fraction:
    if field.kind == "whole":
        if not _WHOLE.fullmatch(text):
            what = f"{path} must be a whole number of {field.unit}, not {shown_text(text)}"
            raise BadInput(what, where=where, hint="write plain digits, such as 16")
    elif not (_RATIONAL.fullmatch(text) or _RATIO.fullmatch(text)):
        what = f"{path} must be a number of {field.unit}, not {shown_text(text)}"
        raise BadInput(
            what, where=where, hint="write a decimal number such as 30.891, or a ratio such as 400/3"
        )
    return Fraction(text)
