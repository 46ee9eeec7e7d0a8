"""Several policies, of which the quickest is taken: by the forecast where nothing contends.

The quickest is asked first whether a packer finds room for it. If not, it tries again with less memory, and
whoever is quickest then is next. So the plan that comes out is forecast to be at least as quick as every other at
the memory at which it was last asked for, ``sync`` and ``ping-pong`` among them where they are rivals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Protocol

from chipmodel.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.liveness import scopes
from chipmodel.program import Program
from chipmodel.schedule import Schedule, steps
from dma.forecast import transfer_times
from dma.ping_pong_across import odds_of
from dma.ping_pong_across_forecast import Expectation, Load
from dma.policy import Policy


class Timer:
    """Forecasts of schedules of one program on one chip."""

    def __init__(self, program: Program, chip: Chip) -> None:
        self.odds = odds_of(program)
        self.cycles_of = transfer_times(chip)

    def cycles(self, schedule: Schedule) -> float:
        """The expected core cycles of one run over all paths; exact where nothing contends and there is
        one path."""
        computes = [step.cycles for step in steps(schedule.body)]
        expectation = Expectation(scopes(schedule.body).section, computes, self.odds)
        return expectation.cycles(
            Load(t.direction, t.issues, t.due, self.cycles_of(t.direction, t.bytes))
            for t in schedule.transfers
        )


def quickest(
    program: Program, chip: Chip, policy: Policy, schedule: Callable[[Policy], Schedule]
) -> Schedule:
    """The quickest of the schedules of the rivals of ``policy``, under its name. Raises DoesNotFit where none
    of them has one."""
    timer = Timer(program, chip)
    best: tuple[float, Schedule] | None = None
    refusal: DoesNotFit | None = None
    for rival in policy.rivals:
        try:
            found = schedule(rival)
        except DoesNotFit as error:
            refusal = refusal or error
            continue
        cycles = timer.cycles(found)
        if best is None or cycles < best[0]:
            best = cycles, found
    if best is None:
        assert refusal is not None, f"{policy.name} has no rivals"
        raise refusal
    return replace(best[1], streamer=policy.name)
