"""Parameters of LUNA's NPU, and the components of an op's cycles.

Source of every number, unless its docstring names another: the vendor's public profiler for ARCS
(LISTENAI/thinker, commit 562ddc70; its tables are in tests/data/hardware, luna_*.csv).
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

from chipmodel.errors import BadInput
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Width:
    """Rates for operands of one width; a matmul is padded to ``rows``, ``inner`` and ``cols``."""

    bytes: int
    macs_per_cycle: Fraction
    rows: int
    inner: int
    cols: int


@dataclass(frozen=True, slots=True)
class VectorKind:
    """An element-wise op: its configuration in cycles, and the bytes read of each operand a cycle."""

    name: str
    configuration: int
    bytes_per_cycle: int


@dataclass(frozen=True, slots=True)
class LunaNpu:
    """LUNA's NPU; the defaults are those of ARCS. Sizes are bytes, times core cycles."""

    in_lanes: int = 8
    """Input channels at once; a convolution's input channels are padded to it."""
    out_lanes: int = 2
    """Output channels at once; output channels, and the channels of depthwise work, are padded to it."""
    columns: int = 4
    """Output columns at once. 8 x 2 x 4 lanes are the 64 int8 MACs a cycle that the vendor publishes."""

    input_buffer: int = 16 * 1024
    weight_buffer: int = 8 * 1024
    load_bytes_per_cycle: Fraction = Fraction(8)
    """The 64-bit read port, which loads inputs, then weights."""
    store_bytes_per_cycle: Fraction = Fraction(16)
    """The 128-bit write port, used while the array computes."""
    conv_row_alignment: int = 8
    """A convolution's image rows are loaded in whole words of the port; depthwise rows are packed."""

    width_8: Width = Width(1, Fraction(64), 2, 8, 4)
    width_16: Width = Width(2, Fraction(16), 2, 4, 2)
    """The 16 MACs a cycle are published; the padding of a matmul, of the same product, is assumed."""
    width_32: Width = Width(4, Fraction(4), 2, 1, 2)

    conv_configuration: int = 1350
    depthwise_configuration: int = 1280
    depthwise_saving: int = 16
    """Cycles by which a depthwise or pooling op is cheaper, once per op."""
    later_pass_saving: int = 300
    """Configuration cycles that every pass after the first saves."""
    piece_configuration: int = 1050
    piece_channel: int = 3
    """A convolution whose input is larger than ``input_buffer`` pays ``piece_configuration`` for each piece,
    and this for each input channel."""

    hold_setup: int = 2
    """Cycles that a column group is held, in addition to one kernel row, once per output row."""
    output_setup: int = 13
    """Cycles once per group of ``out_lanes`` output channels."""

    matmul_configuration: int = 2255
    matmul_rows_setup: int = 16
    """Cycles once per ``Width.rows`` rows of the left matrix."""

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
    """Copies within SharedMemory are fitted to luna_transfer.csv within 2 %: 467 + bytes / 7.2, that is,
    64-bit reads at 90 %."""

    softmax_element: int = 5
    softmax_block: int = 2048
    """Elements of a block, fitted to luna_vector.csv: longer rows cost more in steps of one block."""
    softmax_block_setup: int = 1157
    """Cycles once per block, fitted to luna_vector.csv: what a further block adds beyond 5 an element."""
    softmax_configuration: int = 784
    """The 1941 cycles of a short softmax less the setup of its one block."""

    def __hash__(self) -> int:
        """A hash of a few fields: costs are cached by it, and fractions take long to hash."""
        return hash((self.in_lanes, self.out_lanes, self.columns, self.input_buffer, self.weight_buffer))

    @property
    def most_saving(self) -> int:
        """Configuration cycles that a pass of some op saves."""
        return max(self.later_pass_saving, self.depthwise_saving)

    def width(self, bits: int) -> Width:
        """The width that runs operands of ``bits``: the next larger of 8, 16 and 32, or 32."""
        return self.width_8 if bits <= 8 else self.width_16 if bits <= 16 else self.width_32

    def vector_kind(self, name: str) -> VectorKind:
        """The element-wise op ``name``. Raises BadInput where its cycles are not known."""
        for kind in self.vector_kinds:
            if kind.name == name:
                return kind
        known = ", ".join(kind.name for kind in self.vector_kinds)
        raise BadInput(f"no cycles are known for the vector op {name!r}", hint=f"use one of {known}")


LUNA_ARCS = LunaNpu()


@dataclass(frozen=True, slots=True)
class NpuCost:
    """Core cycles of an op by cause; nothing is counted twice."""

    configuration: Fraction = Fraction(0)
    """The core writes the NPU's registers, for each pass and each piece of input."""
    input_load: Fraction = Fraction(0)
    weight_load: Fraction = Fraction(0)
    compute: Fraction = Fraction(0)
    store: Fraction = Fraction(0)
    """Storing beyond the computing (for element-wise ops the loading) that it overlaps."""

    @property
    def cycles(self) -> Fraction:
        return self.configuration + self.input_load + self.weight_load + self.compute + self.store

    def __add__(self, other: NpuCost) -> NpuCost:
        return NpuCost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def times(self, count: int) -> NpuCost:
        """The cost of ``count`` such ops."""
        return NpuCost(*(getattr(self, f.name) * count for f in fields(self)))
