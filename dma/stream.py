"""Streamers by name, and the schedule that one of them makes of a program on a chip."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.chip.chip import Chip
from chipmodel.errors import BadInput
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from dma.schedule.policy import Policy
from dma.streamers import (
    exact,
    ping_pong,
    ping_pong_across,
    prefetch_greedy,
    prefetch_k,
    resident_knapsack,
    sync,
    weight_pipeline,
)
from dma.streamers.race import Race


def policies() -> Mapping[str, Policy]:
    """The streamers by name."""
    every = (
        sync.POLICY,
        ping_pong.POLICY,
        ping_pong_across.POLICY,
        weight_pipeline.POLICY,
        prefetch_k.POLICY,
        prefetch_greedy.POLICY,
        resident_knapsack.POLICY,
        exact.POLICY,
    )
    return {policy.name: policy for policy in every}


def policy_named(text: str) -> Policy:
    """The streamer that a user means by ``NAME`` or ``NAME:SETTING``. Raises BadInput where there is none."""
    known = policies()
    name, colon, setting = text.partition(":")
    if name not in known:
        raise BadInput(f"unknown streamer {text!r}", hint=f"one of {', '.join(known)}")
    policy = known[name]
    if not colon:
        return policy
    if policy.configured is None:
        raise BadInput(f"streamer {name!r} has no setting, but {setting!r} is given", hint=f"write {name}")
    return policy.configured(setting)


def stream(
    program: Program, chip: Chip, streamer: str, budget: int, spill: bool = True, tiers: bool = False
) -> Schedule:
    """The schedule of ``program`` with at most ``budget`` bytes alive at once. With ``tiers``, what stays in
    SharedMemory is decided by S1's state search (``dma.residency.state_search``), not by
    ``dma.residency.greedy``.

    Raises DoesNotFit where even stripes do not fit, or where ``spill`` is off and something would
    have to leave SharedMemory; BadInput for an unknown streamer.
    """
    race = Race(program, chip, policy_named(streamer), budget, spill, tiers)
    entry = race.next()
    while entry and not race.fits(entry):
        entry = race.next()
    assert entry is not None, "what fits is left in the race"
    return entry.schedule
