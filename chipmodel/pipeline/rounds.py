"""Schedules in the order of their forecasts, packed one by one, until one is chosen.

A streamer assumes that packing wastes no byte. Where the packer's fragmentation leaves less than that, the
schedule is made again for fewer bytes. A forecast knows no contention, so a portfolio that chooses by cycles
has the plans that fit simulated, and keeps the fastest.

A deadline only ends the sequence of schedules: what was made until then is packed, in the order of the
forecasts, as long as one may be faster. A longer limit packs the same ones, or has a plan that is faster than
their forecast. So no plan is slower for more time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.bounds.listed import ENOUGH
from chipmodel.bounds.time_bound import time_bound
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import VENDOR_STREAMER
from chipmodel.pipeline.quickest import QuickestPlan, refuse_recomputed
from chipmodel.pipeline.request import Planned, PlanRequest
from dma.schedule.build import StreamRequest
from dma.schedule.streamer import StreamerPortfolio
from dma.stream import streamer_named
from dma.streamers.race import StreamerRace
from solvers.registry import packer_named
from solvers.tiers.settings import STANDARD, TierSettings

ROUNDS = 16
"""Rounds of scheduling and packing for each streamer; each gives up at least 1/64 of the memory."""
SCHEDULES_SHARE = 0.7
"""The share of the rest after which no more schedules are made if a plan fits; the rest is for packing."""


def plan_in_rounds(
    request: PlanRequest,
    simulated: Mapping[str, str] | None = None,
    cascaded: Program | None = None,
    portfolio: StreamerPortfolio | None = None,
    best: Planned | None = None,
) -> Planned:
    """The first plan that fits, the fastest one where the portfolio chooses by cycles, or else the one with
    the smallest peak. Raises DoesNotFit where no schedule is found at all, or where the plan computes more
    than the request allows.

    ``simulated`` is the path along which plans are compared; None: the first plan that fits is chosen.
    ``cascaded`` is the program with some of its ops as cascades. ``portfolio`` is used in place of the
    streamer of the request. The ``best`` plan so far is the answer where no other one is better.
    """
    program, size = cascaded or request.program, request.chip.shared_memory.bytes
    until = request.deadline.share(SCHEDULES_SHARE)
    portfolio = portfolio or streamer_named(request.streamer)
    enough = _enough(request, simulated) if portfolio.chooses_by_cycles else 0
    race = StreamerRace(_asked(request, program), portfolio, until, enough)
    tried = QuickestPlan(request, simulated if race.portfolio.chooses_by_cycles else None, best)
    most = ROUNDS * len(race.portfolio.candidates)
    while len(tried.attempts) < most and (entry := race.next()):
        if not tried.may_be_faster(program, entry.schedule):
            continue
        if tried.fits(entry.budget, program, entry.schedule):
            if tried.path is None:
                break
        elif tried.last and not (tried.has_room and until.ends("further rounds of scheduling and packing")):
            excess = tried.last.solved.peak - size
            # Where time is over, a plan is to be found soon.
            least = size // 8 if request.deadline.over else size // 64
            race.enter(entry.streamer, entry.budget - max(excess // 4, least, 1))
    assert tried.best is not None, "a race without a schedule raises DoesNotFit"
    refuse_recomputed(request, tried.best)
    return replace(tried.best, attempts=tuple(tried.attempts))


def _enough(request: PlanRequest, path: Mapping[str, str] | None) -> float:
    """Cycles of which hardly any can be saved; none where plans may save others than those along ``path``."""
    if path is None or request.chip.cores > 1 or not request.program.is_straight:
        return 0
    return ENOUGH * time_bound(request.program, request.chip, path, request.cascades).cycles


def _asked(request: PlanRequest, program: Program) -> StreamRequest:
    """What is asked of the streamers: schedules of ``program`` for all of SharedMemory."""
    packer, chip = packer_named(request.packer), request.chip
    settings = packer.options.get("settings", STANDARD)
    tiers = settings if packer.tiers and isinstance(settings, TierSettings) else None
    by_bytes = request.streamer == VENDOR_STREAMER
    return StreamRequest(program, chip, chip.shared_memory.bytes, request.spill, tiers, by_bytes=by_bytes)
