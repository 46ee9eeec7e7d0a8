"""Parameters of a cluster with the NE16 engine of the PULP platform, as in GAP9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

MOST_BITS = 8
"""Bits of a weight, which the engine takes where a chip file does not say fewer."""


@dataclass(frozen=True, slots=True)
class Ne16Npu:
    """The engine, whose shape is fixed (``chipmodel.npu.ne16``), and the cores beside it."""

    weight_bits: int
    """Bits of a weight: the engine takes one of them at a time."""
    cluster_macs: Fraction
    """MACs, or elements of pooling windows, a cycle of int8 work that the engine leaves to the cores."""
    cluster_output: Fraction
    """Cycles that each output of such work takes in addition: its bias, scale and store."""
    launch_cycles: int
    """Core cycles before each part of an op: the tool's call, tiles and registers."""


def ne16_of(numbers: Mapping[str, Fraction]) -> Ne16Npu:
    """The cluster of a chip file with these numbers."""
    bits, launch = int(numbers["weights.bits_per_weight"]), int(numbers["npu.launch_cycles"])
    rate, output = (numbers[f"npu.ne16.cluster_{name}"] for name in ("macs_per_cycle", "output_cycles"))
    return Ne16Npu(bits or MOST_BITS, rate, output, launch)
