"""Parameters of a cluster with the NE16 engine of the PULP platform, as in GAP9."""

from __future__ import annotations

from fractions import Fraction

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.records import dataclass

MOST_BITS = 8
"""Bits of a weight, which the engine takes where a chip file does not say fewer."""


@dataclass(frozen=True, slots=True)
class Ne16Npu:
    """The engine, whose shape is fixed (``chipmodel.npu.ne16``), and the cores beside it."""

    weight_bits: int
    """Bits of a weight: the engine takes one of them at a time."""
    cluster_macs_per_cycle: Fraction
    """MACs, or elements of pooling windows, a cycle of int8 work that the engine leaves to the cores."""
    cluster_output: Fraction
    """Cycles that each output of such work takes in addition: its bias, scale and store."""
    launch_cycles: int
    """Core cycles before each part of an op: the tool's call, tiles and registers."""


def ne16_of(values: Values) -> Ne16Npu:
    """The cluster of a chip file with these values."""
    bits, launch = int(values["weights.bits_per_weight"]), int(values["npu.launch_cycles"])
    return read_as(Ne16Npu, "npu.ne16", values, weight_bits=bits or MOST_BITS, launch_cycles=launch)
