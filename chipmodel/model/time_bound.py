"""A lower bound on the cycles of a run; ``chipmodel.bounds.time_bound`` computes it."""

from __future__ import annotations

from typing import Literal

from chipmodel.records import dataclass

Unit = Literal["npu", "dma"]
PlanSpace = Literal[
    "plans whose ops run one after another",
    "plans with or without cascades",
    "plans with the same slices, one after another",
    "plans with the same slices, with or without cascades",
    "listed ways to run ops one after another",
    "listed ways to run ops, with or without cascades",
]
"""The plans that a bound holds for."""
WITHOUT_CASCADES: PlanSpace = "plans whose ops run one after another"
"""In the given order; outputs may take their inputs' memory row by row."""
WITH_CASCADES: PlanSpace = "plans with or without cascades"
"""Steps of different ops may also take turns, each as soon as the rows that it reads are made, and rows may
be computed more than once for the same reader. Each op computes all of its rows at least once, on one
core; ops that take turns run on the same core, and another core gets a tensor when all of it is made. No op
runs again for another reader."""
SAME_OPS: tuple[PlanSpace, PlanSpace] = (
    "plans with the same slices, one after another",
    "plans with the same slices, with or without cascades",
)
"""Those, without cascades and with, of a program whose wide tensors are cut into slices of channels
(``dma.residency.channel_slices``): none of a plan that cuts other ops."""
LISTED: tuple[PlanSpace, PlanSpace] = (
    "listed ways to run ops one after another",
    "listed ways to run ops, with or without cascades",
)
"""Plans whose ops run in the ways of ``dma.columns``, with their real steps and buffers. Those of the
plan that is bounded are among them."""


def plan_space(cascades: bool, other_ops: bool) -> PlanSpace:
    """Return the plans of a program, with ``other_ops`` than its network or not, with ``cascades`` or not."""
    return (SAME_OPS if other_ops else (WITHOUT_CASCADES, WITH_CASCADES))[cascades]


def has_turns(space: PlanSpace) -> bool:
    """Return whether ops may take turns in plans of ``space``."""
    return space in (WITH_CASCADES, SAME_OPS[True], LISTED[True])


@dataclass(frozen=True, slots=True)
class Binding:
    """Ops from ``first`` to ``last``, in order of execution, take at least ``cycles`` of one unit."""

    unit: Unit
    first: str
    last: str
    cycles: int
    full: bool = False
    """Whether SharedMemory has no room to load more of it before."""


@dataclass(frozen=True, slots=True)
class TimeBound:
    """The least ``cycles`` of the plans in ``space``, and the runs of ops that add up to them."""

    cycles: int
    bindings: tuple[Binding, ...] = ()
    space: PlanSpace = WITHOUT_CASCADES
    ways: int = 0
    """How many ways of the listed ones no other one is better than; 0 where none were listed."""
    any_plan: int | None = None
    """The least cycles of any plan, where ``space`` has the listed ones; None where that is ``cycles``."""

    @property
    def of_any_plan(self) -> int:
        """The least cycles of any plan whatever."""
        return self.cycles if self.any_plan is None else self.any_plan


@dataclass(frozen=True, slots=True)
class ProofSegment:
    """Runs of ops ``[start, stop)`` along a path, by number in order, of a loop four iterations
    (``chipmodel.model.short_path``), and the unit that bounds them."""

    unit: Unit
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ProvenCycles:
    """The least ``cycles`` of the plans in ``space`` along ``path``: the sum of what the ``segments`` take,
    which ``chipmodel.verify.proven_cycles`` derives again."""

    space: PlanSpace
    cycles: int
    segments: tuple[ProofSegment, ...]
    path: tuple[tuple[str, str], ...] = ()
    """The arm of each ``if``, and the iterations of each ``loop``."""
