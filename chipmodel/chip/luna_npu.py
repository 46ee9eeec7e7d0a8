"""The numbers of LUNA's NPU and the parts that a cost is made of.

Source of every number, unless its docstring says otherwise: hardware.md, section "NPU cycles", which
gives what the vendor's profiler charges on ARCS (LISTENAI/thinker at commit 562ddc70).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction

from chipmodel.errors import BadInput


@dataclass(frozen=True, slots=True)
class Width:
    """How operands of one width run: ``rows``, ``inner`` and ``cols`` are what a matmul is padded to."""

    bytes: int
    macs_per_cycle: Fraction
    rows: int
    inner: int
    cols: int


@dataclass(frozen=True, slots=True)
class VectorKind:
    """An element-wise op: its configuration in cycles, and how fast each operand's bytes are read."""

    name: str
    configuration: int
    bytes_per_cycle: int


@dataclass(frozen=True, slots=True)
class LunaNpu:
    """LUNA's NPU; the defaults are those of ARCS. Sizes are bytes, times core cycles."""

    in_lanes: int = 8
    """Input channels that the array takes at once; a convolution's input channels are padded to it."""
    out_lanes: int = 2
    """Output channels at once; output channels, and the channels of depthwise work, are padded to it."""
    columns: int = 4
    """Output columns at once. 8 x 2 x 4 lanes are the 64 int8 MACs a cycle of the table there."""

    input_buffer: int = 16 * 1024
    weight_buffer: int = 8 * 1024
    load_bytes_per_cycle: Fraction = Fraction(8)
    """The 64-bit read port: input and weights go through it one after the other."""
    store_bytes_per_cycle: Fraction = Fraction(16)
    """The 128-bit write port, used while the array computes."""
    conv_row_alignment: int = 8
    """A convolution's image rows are loaded in whole words of the port; depthwise rows are packed."""

    width_8: Width = Width(1, Fraction(64), 2, 8, 4)
    width_16: Width = Width(2, Fraction(16), 2, 4, 2)
    """Its 16 MACs a cycle are published; that a matmul's padding multiplies up to them is assumed."""
    width_32: Width = Width(4, Fraction(4), 2, 1, 2)

    conv_configuration: int = 1350
    depthwise_configuration: int = 1280
    depthwise_saving: int = 16
    """"16 cycles less in all" of a depthwise or pooling op."""
    later_pass_saving: int = 300
    """What every pass after an op's first saves of its configuration."""
    piece_configuration: int = 1050
    piece_channel: int = 3
    """A convolution's input over ``input_buffer`` pays the former a piece, and this an input channel."""

    hold_setup: int = 2
    """A column group is held for one kernel row and this many cycles, once per output row."""
    output_setup: int = 13
    """Once per group of ``out_lanes`` output channels."""

    matmul_configuration: int = 2255
    matmul_rows_setup: int = 16
    """Once per ``Width.rows`` rows of the left matrix."""

    vector_kinds: tuple[VectorKind, ...] = (
        VectorKind("add", 534, 8),
        VectorKind("mul", 521, 4),
        VectorKind("relu", 484, 4),
        VectorKind("prelu", 484, 4),
        VectorKind("sigmoid", 406, 4),
        VectorKind("tanh", 406, 4),
    )

    copy_configuration: int = 467
    copy_bytes_per_cycle: Fraction = Fraction("7.2")
    """Copies within SharedMemory: hardware.md, "about 467 + bytes/7.2 (2 %)": 64-bit reads at 90 %."""

    softmax_element: int = 5
    softmax_stretch: int = 2048
    """Elements at once: fits luna_vector.csv, whose long rows are dearer by whole stretches."""
    softmax_stretch_setup: int = 1157
    """What luna_vector.csv's rows over 2048 elements pay beyond 5 an element, a further stretch."""
    softmax_configuration: int = 784
    """hardware.md's 1941 of a short softmax, less its one stretch."""

    def width(self, bits: int) -> Width:
        """Widths between the three of the array run as the next one up, wider ones as 32 bits."""
        return self.width_8 if bits <= 8 else self.width_16 if bits <= 16 else self.width_32

    def vector_kind(self, name: str) -> VectorKind:
        """The element-wise op ``name``; BadInput where its cycles are not known."""
        for kind in self.vector_kinds:
            if kind.name == name:
                return kind
        known = ", ".join(kind.name for kind in self.vector_kinds)
        raise BadInput(f"no cycles are known for the vector op {name!r}", hint=f"use one of {known}")


LUNA_ARCS = LunaNpu()


@dataclass(frozen=True, slots=True)
class NpuCost:
    """Core cycles of an op by what the NPU spends them on; nothing is counted twice."""

    configuration: Fraction = Fraction(0)
    """The core writes the NPU's registers, once per pass and per piece of input."""
    input_load: Fraction = Fraction(0)
    weight_load: Fraction = Fraction(0)
    compute: Fraction = Fraction(0)
    store: Fraction = Fraction(0)
    """What storing takes beyond the computing (of element-wise ops: the loading) that it overlaps."""

    @property
    def cycles(self) -> Fraction:
        return self.configuration + self.input_load + self.weight_load + self.compute + self.store

    def __add__(self, other: NpuCost) -> NpuCost:
        return NpuCost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def times(self, count: int) -> NpuCost:
        """The same ``count`` times over."""
        return NpuCost(*(getattr(self, f.name) * count for f in fields(self)))


def ceil_div(size: int, unit: int) -> int:
    """How many units hold ``size``."""
    return -(-size // unit)


def pad(size: int, unit: int) -> int:
    """``size`` rounded up to whole units."""
    return ceil_div(size, unit) * unit
