"""Parameters of Arm's Ethos-U55 and U65 NPUs, whose variants of 32 to 512 MACs differ in these numbers only.

The NPU computes an output block after block. Input of a block and its accumulators lie in the NPU's own RAM
(SHRAM, in banks of 1 KiB, both twice, so that the next block is read while one is computed); a block is
traversed in micro-blocks, each of which is one step of the MAC array. Source of the mechanism and of every
number that is not in the chip file: Arm's compiler Vela (ethos-u-vela 5.2.0 on PyPI), npu_performance.py,
architecture_allocator.py and architecture_features.py.
"""

from __future__ import annotations

from fractions import Fraction

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.records import dataclass

OUTPUT_RATES = ("plain", "max_pool", "add", "multiply", "wide", "wide_unary", "wide_multiply", "table")
"""Kinds of output by their cycles for each element: of convolutions, dense layers and average pooling; of max
pooling; of additions and subtractions; of products, and of any output of 40-bit accumulators; of element-wise
work on 32 bits with two operands, with one, and of 32-bit products; the least where it passes a table."""


@dataclass(frozen=True, slots=True)
class EthosNpu:
    """One variant, and the port to its SRAM. Sizes are elements unless a name says otherwise."""

    micro_block_height: int
    micro_block_width: int
    micro_block_depth: int
    """The micro-block of the output: what one step of the MAC array works on."""
    shram_banks: int
    shram_input_granule: int
    """Banks of SHRAM are given to inputs in multiples of this."""
    shram_accumulator_granule: int
    shram_wide_accumulator_granule: int
    """The same for accumulators of 32 and of 40 bits."""
    delay_cycles: int
    wide_delay_cycles: int
    """Cycles between two steps of a block of one micro-block, with accumulators of 32 and of 40 bits."""
    sram_read_latency: int
    sram_write_latency: int
    sram_burst: int
    """Bytes of the burst in which SRAM is accessed; shorter accesses take as long."""
    read_bytes_per_cycle: Fraction
    write_bytes_per_cycle: Fraction
    """The port to SRAM."""
    output_cycles: tuple[Fraction, ...]
    """Cycles of an output element, in the order of ``OUTPUT_RATES``."""
    compiler: str = "vela-4.5"
    """Which ops run on the NPU: by the list of that compiler (``chipmodel.npu.vela_operators``)."""
    weights_on_port: bool = False
    """Whether weights that are read again for each block take time on that port."""
    cores: int = 1
    """MAC arrays that share the steps of a block; Ethos-U65-512 has two, of 256 MACs each."""
    partial_blocks: bool = False
    """Whether a block at the border of the output takes what lies inside; if not, as long as a whole one."""

    def __hash__(self) -> int:
        """A hash of a few fields: costs are cached by it, and fractions take long to hash."""
        return hash((self.micro_block_width, self.micro_block_depth, self.shram_banks, self.cores))

    def output(self, kind: str, bits: int = 8) -> Fraction:
        """Cycles of an output element of one of the ``OUTPUT_RATES``, the same for 8 and 16 ``bits``."""
        return self.output_cycles[OUTPUT_RATES.index(kind)]

    def port(self, read: Fraction, written: Fraction) -> Fraction:
        """Cycles in which so many bytes are read and so many written."""
        return read / self.read_bytes_per_cycle + written / self.write_bytes_per_cycle

    @property
    def macs(self) -> int:
        """MACs a cycle on 8 bits."""
        return 8 * self.micro_block_height * self.micro_block_width * self.micro_block_depth * self.cores

    @property
    def columns_first(self) -> int:
        """The width of the micro-block over outputs of one row, where it is two rows high otherwise."""
        return self.micro_block_height * self.micro_block_width


def ethos_of(values: Values) -> EthosNpu:
    """The NPU of a chip file with these values."""
    return read_as(
        EthosNpu,
        "npu.ethos",
        values,
        read_bytes_per_cycle=values["npu.read_bytes_per_cycle"],
        write_bytes_per_cycle=values["npu.write_bytes_per_cycle"],
        output_cycles=tuple(values[f"npu.ethos.output_cycles.{kind}"] for kind in OUTPUT_RATES),
        partial_blocks=values["npu.ethos.border_blocks"] == "inside",
    )
