"""A lower bound on the cycles of a run; ``chipmodel.bounds.time_bound`` computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["npu", "dma"]


@dataclass(frozen=True, slots=True)
class Binding:
    """Ops from ``first`` to ``last``, in order of execution, take at least ``cycles`` of one unit."""

    unit: Unit
    first: str
    last: str
    cycles: int


@dataclass(frozen=True, slots=True)
class TimeBound:
    """The least ``cycles`` of any plan, and the runs of ops that add up to them."""

    cycles: int
    bindings: tuple[Binding, ...] = ()
