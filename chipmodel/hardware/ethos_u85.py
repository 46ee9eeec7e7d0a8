"""Parameters of Arm's Ethos-U85 NPU, whose variants of 128 to 2,048 MACs are the rows of ``VARIANTS``.

As Ethos-U55 (``chipmodel.hardware.ethos_npu``) it computes an output block after block, in micro-blocks. But
a variant has several micro-blocks to choose from, and a RAM for inputs beside one for accumulators. Source of
the mechanism and of every number that is not in the chip file: Arm's compiler Vela (ethos-u-vela 5.2.0 on
PyPI, source distribution), regor/architecture/ethosu85.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.records import dataclass

Sizes = tuple[int, int, int]
"""Rows, columns and channels."""


@dataclass(frozen=True, slots=True)
class MicroBlock:
    """What one step of the MAC array works on."""

    output: Sizes
    inputs: tuple[Sizes, Sizes, Sizes]
    """Units in which the RAM of inputs is given out, in bricks of 16 bytes: for blocks whose input channels
    take up to 128, up to 256 and more bits."""
    works: tuple[str, str] = ("dense depthwise", "dense depthwise")
    """What it is for with inputs of 8 and of 16 bits: ``dense`` all convolutions and dense layers, ``point``
    those of one element by depth, ``depthwise`` also pooling. Element-wise work may have any."""


@dataclass(frozen=True, slots=True)
class U85Variant:
    """What differs between variants."""

    decoders: int
    """Weights are decoded by so many at once."""
    input_ram: int
    accumulator_ram: int
    """Bytes."""
    output_cycles: tuple[str, str, str]
    """Cycles of an output element of 8, 16 and 32 bits."""
    micro_blocks: tuple[MicroBlock, ...]


_BY_DEPTH, _BY_CHANNEL = ("dense", "dense depthwise"), ("depthwise", "point")
_FLAT, _ROW = ((2, 2, 1), (1, 2, 2), (1, 1, 4)), ((1, 4, 1), (1, 2, 2), (1, 1, 4))
_LINE = ((1, 2, 1), (1, 1, 2), (1, 1, 2))
_FLAT_1024, _ROW_1024 = ((2, 4, 1), (2, 2, 2), (1, 2, 4)), ((2, 4, 1), (1, 4, 2), (1, 2, 4))
_FLAT_2048, _ROW_2048 = ((4, 4, 1), (2, 4, 2), (2, 2, 4)), ((4, 4, 1), (2, 4, 2), (1, 4, 4))
_DENSE = ("dense", "dense")

VARIANTS: Mapping[int, U85Variant] = {
    128: U85Variant(
        *(1, 8192, 8192, ("0.5", "0.5", "1")),
        (MicroBlock((1, 2, 8), _LINE, _BY_DEPTH), MicroBlock((1, 1, 16), _LINE, _BY_CHANNEL)),
    ),
    256: U85Variant(
        *(1, 16384, 16384, ("0.25", "0.25", "0.5")),
        (
            MicroBlock((1, 2, 16), _FLAT, _BY_CHANNEL),
            MicroBlock((1, 4, 8), _ROW, _BY_DEPTH),
            MicroBlock((2, 2, 8), _FLAT, _BY_DEPTH),
        ),
    ),
    512: U85Variant(
        *(2, 16384, 32768, ("0.125", "0.125", "0.25")),
        (MicroBlock((2, 2, 16), _FLAT), MicroBlock((1, 4, 16), _ROW)),
    ),
    1024: U85Variant(
        *(4, 16384, 65536, ("0.0625", "0.125", "0.25")),
        (
            MicroBlock((2, 2, 32), _FLAT_1024, _DENSE),
            MicroBlock((1, 4, 32), _ROW_1024, _DENSE),
            MicroBlock((2, 4, 16), _FLAT_1024),
        ),
    ),
    2048: U85Variant(
        *(4, 32768, 131072, ("0.03125", "0.0625", "0.125")),
        (
            MicroBlock((2, 2, 64), _FLAT_2048, _DENSE),
            MicroBlock((1, 4, 64), _ROW_2048, _DENSE),
            MicroBlock((4, 4, 16), _FLAT_2048),
        ),
    ),
}
"""The variants, by their MACs a cycle on 8 bits."""


@dataclass(frozen=True, slots=True)
class EthosU85:
    """One variant, and its ports to SRAM."""

    macs: int
    """Those of its row of ``VARIANTS``."""
    read_latency: int
    write_latency: int
    sram_burst: int
    """Bytes of the burst in which SRAM is accessed; shorter accesses take as long."""
    bytes_per_cycle: Fraction
    """All ports to SRAM together."""
    read_bytes_per_cycle: Fraction
    write_bytes_per_cycle: Fraction
    """What reads of one kind, and what writes may take of that: of inputs, or of weights."""
    compiler: str = "vela-4.5"
    """The same as ``EthosNpu.compiler``."""
    weights_on_port: bool = False
    """Whether weights that are read again for each block take time on those ports."""

    @property
    def variant(self) -> U85Variant:
        """What is particular to its number of MACs."""
        return VARIANTS[self.macs]

    def __hash__(self) -> int:
        """A hash of one field: costs are cached by it, and fractions take long to hash."""
        return hash(self.macs)

    def output(self, kind: str, bits: int = 8) -> Fraction:
        """Cycles of an output element of so many bits; of 32 for a ``kind`` of output that is wide."""
        return Fraction(self.variant.output_cycles[2 if kind.startswith("wide") else bits == 16])

    def port(self, read: Fraction, written: Fraction) -> Fraction:
        """Cycles in which so many bytes of inputs are read while so many of outputs are written."""
        ways = read / self.read_bytes_per_cycle, written / self.write_bytes_per_cycle
        return max(*ways, (read + written) / self.bytes_per_cycle)


def ethos_u85_of(values: Values) -> EthosU85:
    """The NPU of a chip file with these values."""
    return read_as(
        EthosU85,
        "npu.ethos",
        values,
        macs=int(values["npu.macs_per_cycle.int8"]),
        **{
            f"{way}_latency": int(values[f"npu.ethos.sram.{way}_latency_cycles"]) for way in ("read", "write")
        },
        sram_burst=int(values["npu.ethos.sram.burst_bytes"]),
        bytes_per_cycle=values["npu.ethos.sram.bytes_per_cycle"],
        read_bytes_per_cycle=values["npu.read_bytes_per_cycle"],
        write_bytes_per_cycle=values["npu.write_bytes_per_cycle"],
    )
