"""Parameters of Arm's Ethos-U85 NPU, whose variants of 128 to 2,048 MACs are in ``ethos_u85.yaml``.

As Ethos-U55 (``chipmodel.hardware.ethos_npu``) it computes an output block after block, in micro-blocks. But
a variant has several micro-blocks to choose from, and a RAM for inputs beside one for accumulators. Source of
the mechanism and of every number that is not in the chip file: Arm's compiler Vela (ethos-u-vela 5.2.0 on
PyPI, source distribution), regor/architecture/ethosu85.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import yaml

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


VARIANTS = (128, 256, 512, 1024, 2048)
"""The variants, by their MACs a cycle on 8 bits: the keys of ``ethos_u85.yaml``."""


@cache
def _variants() -> Mapping[int, U85Variant]:
    read = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        macs: U85Variant(**_tuples({**said, "micro_blocks": _blocks(said)})) for macs, said in read.items()
    }


def _blocks(said: Any) -> tuple[MicroBlock, ...]:
    return tuple(MicroBlock(**_tuples(each)) for each in said["micro_blocks"])


_Sizes = int | str | list["_Sizes"]


def _tuples(said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: _sizes(value) for key, value in said.items()}


def _sizes(said: _Sizes) -> Any:
    return tuple(map(_sizes, said)) if isinstance(said, list) else said


@dataclass(frozen=True, slots=True)
class EthosU85:
    """One variant, and its ports to SRAM."""

    macs: int
    """One of ``VARIANTS``."""
    sram_read_latency: int
    sram_write_latency: int
    sram_burst: int
    """Bytes of the burst in which SRAM is accessed; shorter accesses take as long."""
    sram_bytes_per_cycle: Fraction
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
        return _variants()[self.macs]

    def __hash__(self) -> int:
        """A hash of one field: costs are cached by it, and fractions take long to hash."""
        return hash(self.macs)

    def output(self, kind: str, bits: int = 8) -> Fraction:
        """Cycles of an output element of so many bits; of 32 for a ``kind`` of output that is wide."""
        return Fraction(self.variant.output_cycles[2 if kind.startswith("wide") else bits == 16])

    def port(self, read: Fraction, written: Fraction) -> Fraction:
        """Cycles in which so many bytes of inputs are read while so many of outputs are written."""
        ways = read / self.read_bytes_per_cycle, written / self.write_bytes_per_cycle
        return max(*ways, (read + written) / self.sram_bytes_per_cycle)


def ethos_u85_of(values: Values) -> EthosU85:
    """The NPU of a chip file with these values."""
    return read_as(
        EthosU85,
        "npu.ethos",
        values,
        macs=int(values["npu.macs_per_cycle.int8"]),
        read_bytes_per_cycle=values["npu.read_bytes_per_cycle"],
        write_bytes_per_cycle=values["npu.write_bytes_per_cycle"],
    )
