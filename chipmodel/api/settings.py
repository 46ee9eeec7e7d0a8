"""The options that ``plan``, ``simulate`` and others share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TypedDict, get_args

from chipmodel.api.effort import Cancel, Progress, TimeLimit
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program, ops
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, DEFAULT_PACKER, DEFAULT_STREAMER, OrderWish
from chipmodel.pipeline.order_choice import OrderRequest
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.too_little_memory import fitted_or_refused, with_enough_memory_named
from chipmodel.records import dataclass
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.in_place import InPlace
from chipmodel.terminal.progress import Say
from dma.residency.fitted import fitted
from dma.schedule.effort import DEFAULT_GAP, StopCriterion
from solvers.branches.mergers import DEFAULT_MERGE, packer_of_merge
from solvers.core.outcome import Limits
from solvers.registry import packer_named


class CallOptions(TypedDict, total=False):
    """Time limit, cancellation and progress of a call.

    ``time_limit`` in seconds (or a ``TimeLimit`` that several calls share): then every search and bound ends
    with what it has. ``cancel`` is asked now and then whether to end so. ``progress`` receives a line for
    every stage.
    """

    time_limit: float | TimeLimit | None
    cancel: Cancel | None
    progress: Progress | None


class PlanOptions(CallOptions, total=False):
    """Options of planning a workload. All are optional and mean the same as on the command line.

    Parameters
    ----------
    packer, streamer, merge
        Names that ``planners()`` lists: of offsets, of transfers, and of how arms of branches share memory.
    spill
        Whether tensors may leave SharedMemory for Psram.
    in_place
        Ops whose output may overwrite an input: ``"all"``, ``"elementwise"``, ``"concat"``, ``"rows"`` (ops
        that run in stripes of rows), ``"declared"`` (ops of which the workload says so) or ``"none"``.
    cascade
        Ops that run stripe by stripe: ``"auto"``, ``"off"``, or names with commas between them.
    recompute
        The most multiply-accumulates of the plan, in multiples of the workload's: cascades may compute rows
        again for less memory, bands of columns included. ``None``: rows are kept, and bands have no limit.
    order
        Order of ops: ``"given"``, ``"least-peak"`` or ``"best"``.
    gap
        The share above the bound at which streamer ``exact`` stops; 0.0005 by default.
    time_limit
        Seconds, or a ``TimeLimit`` that several calls share: then every search ends with what it has.
    cancel
        Is asked now and then whether to end so.
    progress
        Receives a line for every stage.
    """

    packer: str
    streamer: str
    merge: str
    spill: bool
    in_place: InPlace
    cascade: str
    recompute: float | None
    order: OrderWish
    gap: float | None


MOST_RECOMPUTE = 1_000_000
"""Times: more than any plan computes."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """``PlanOptions`` with their defaults."""

    packer: str = DEFAULT_PACKER
    streamer: str = DEFAULT_STREAMER
    merge: str = DEFAULT_MERGE
    spill: bool = True
    in_place: InPlace = "all"
    cascade: str = CASCADE_AUTO
    recompute: float | None = None
    order: OrderWish = "given"
    gap: float | None = None
    time_limit: float | TimeLimit | None = None
    cancel: Cancel | None = None
    progress: Progress | None = None
    limit: TimeLimit = field(init=False)
    """Begins with the call."""

    def __post_init__(self) -> None:
        _known_word("order", self.order, get_args(OrderWish))
        _known_word("in_place", self.in_place, get_args(InPlace))
        if self.gap is not None and not self.gap >= 0:
            raise BadInput(f"gap is {shown(self.gap)}", hint="a share above the bound, such as 0.01")
        if self.recompute is not None and self.cascade == CASCADE_OFF:
            raise BadInput("recompute is for cascades, which are off", hint='leave it out, or cascade="auto"')
        if self.recompute is not None and not 1 <= self.recompute <= MOST_RECOMPUTE:
            hint = f"1 to {MOST_RECOMPUTE:,}, such as 1.3: times the multiply-accumulates of the workload"
            raise BadInput(f"recompute is {shown(self.recompute)}", hint=hint)
        given = self.time_limit
        limit = given if isinstance(given, TimeLimit) else TimeLimit(given, self.cancel)
        object.__setattr__(self, "limit", limit)

    @property
    def limits(self) -> Limits | None:
        """For a packer; None: its own."""
        seconds = self.limit.seconds
        return None if seconds is None else Limits(seconds=seconds)

    def stop(self, say: Say | None = None) -> StopCriterion:
        """For a streamer, which reports its progress to ``say``."""
        gap = DEFAULT_GAP if self.gap is None else self.gap
        return StopCriterion(self.limit.seconds, gap, report=say)

    def request(self, program: Program, chip: Chip, fits: bool = True) -> PlanRequest:
        """``program`` with its weights as ``chip`` stores them, in the given order; with ``fits`` cut so that
        it fits the SharedMemory of ``chip``, where that can be."""
        self.limit.require_first_plan(sum(1 for _ in ops(program.body)))
        own = compiled(program, chip)
        if fits:
            own = fitted_or_refused(own, chip, self.limit.deadline) if self.spill else fitted(own, chip)
        return PlanRequest(
            own,
            chip,
            self.packer,
            self.streamer,
            self.merge,
            self.spill,
            limits=self.limits,
            smallest_peak=packer_named(packer_of_merge(self.merge, self.packer)).minimises,
            cascade=self.cascade,
            recompute=self.recompute,
            rows_in_place=self.in_place in ("all", "rows"),
        )

    def naming_enough_memory(self, program: Program, chip: Chip) -> AbstractContextManager[None]:
        """Name a size of SharedMemory that is enough in a DoesNotFit of the body, which plans ``program``."""
        return with_enough_memory_named(compiled(program, chip), chip, self.limit.deadline)

    def order_of(self, program: Program) -> OrderRequest:
        """What is asked of the order of ops of a compiled ``program``."""
        return OrderRequest(program, self.in_place, self.order)


def _known_word(name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        hint = suggest(str(given), known, f"{name} is one of")
        raise BadInput(f"{name} {shown(given)} is not known", hint=hint)
