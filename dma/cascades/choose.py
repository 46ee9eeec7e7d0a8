"""Sets of cascades that are worth planning for a program on a chip."""

from __future__ import annotations

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Program
from chipmodel.passes.cascades import CascadeChoice


def cascade_candidates(
    program: Program, chip: Chip, capacity: int, rolls: bool = True
) -> tuple[tuple[CascadeChoice, ...], ...]:
    """Sets of cascades, the most promising one first; none where nothing is to be gained."""
    return ()
