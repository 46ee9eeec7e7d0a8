"""What a lower bound on the time says; ``chipmodel.bounds.time_bound`` finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["npu", "dma"]


@dataclass(frozen=True, slots=True)
class Binding:
    """Ops from ``first`` to ``last``, in order of execution, take ``cycles`` at least, of one unit."""

    unit: Unit
    first: str
    last: str
    cycles: int


@dataclass(frozen=True, slots=True)
class TimeBound:
    """``cycles`` that no plan beats, and the stretches of ops that add up to it."""

    cycles: int
    bindings: tuple[Binding, ...] = ()
