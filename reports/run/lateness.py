"""The weights that arrive too late, by op, as a streamer that plans by time forecast them."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.model.schedule import Schedule
from reports.words import count, shortened


@dataclass(frozen=True, slots=True)
class LateOp:
    """An op, its steps that wait for weights, and the core cycles of these waits in one execution of the
    op."""

    op: str
    steps: int
    cycles: int


def late_ops(schedule: Schedule) -> tuple[LateOp, ...]:
    """The ops whose weights arrive too late, those that wait the most cycles first."""
    found: dict[str, LateOp] = {}
    for late in schedule.late:
        known = found.get(late.op, LateOp(late.op, 0, 0))
        found[late.op] = LateOp(late.op, known.steps + 1, known.cycles + late.cycles)
    return tuple(sorted(found.values(), key=lambda late: (-late.cycles, late.op)))


def lateness(late: tuple[LateOp, ...]) -> str:
    """The worst ops in words."""
    return shortened([f"{each.op} by {count(each.cycles)} cycles" for each in late], 4)
