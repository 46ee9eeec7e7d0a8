"""What tests ask of the bound on cycles."""

from collections.abc import Mapping

from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program


def lower_bound_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> int:
    """The cycles of ``time_bound``."""
    return time_bound(program, chip, path).cycles
