"""Plans with large ops cut finer, where a plan of the program as it is has no room.

An op may fit by a hair and leave no room for weights or other tensors next to it. ``chipmodel.api.check``
tries the same programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from dma.residency.fitted import FINER_SHARES, fitted
from solvers.core.deadline import NO_DEADLINE, Deadline

T = TypeVar("T")


def with_finer_cuts(
    request: PlanRequest, attempt: Callable[[PlanRequest], T], fits: Callable[[T], bool]
) -> T:
    """What ``attempt`` gives for ``request`` if it ``fits``, else for the first of its finer programs that
    does. Where none does, or spilling is not allowed, the first one, or its DoesNotFit, which is no answer
    to a deadline that came before. Ops that would run in too many parts are not cut finer."""
    try:
        found = attempt(request)
    except TooManyParts:
        raise
    except DoesNotFit:
        finer = _finer(request, attempt, fits, until=NO_DEADLINE)
        if finer is None:
            raise
        return finer
    if fits(found):
        return found
    finer = _finer(request, attempt, fits, request.deadline)
    return found if finer is None else finer


def _finer(
    request: PlanRequest, attempt: Callable[[PlanRequest], T], fits: Callable[[T], bool], until: Deadline
) -> T | None:
    for program in finer_programs(request.program, request.chip) if request.spill else ():
        if until.over:
            return None
        try:
            found = attempt(replace(request, program=program))
        except DoesNotFit:
            continue
        if fits(found):
            return found
    return None


def finer_programs(program: Program, chip: Chip) -> Iterator[Program]:
    """``program`` with the ops cut finer that need more than a share of SharedMemory at once, for one share
    after another; only programs that differ."""
    known = [program]
    for share in FINER_SHARES:
        finer = fitted(program, chip, share)
        if finer not in known:
            known.append(finer)
            yield finer
