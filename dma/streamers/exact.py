"""``exact``: CP-SAT over the listed ways, of whose fastest chains as many are built as are asked for.

CP-SAT proves what no plan in these ways beats (``solvers.columns.cp_sat``); a plan that takes no more is the
best of them, and nothing else is tried. The search begins with the plan of ``auto``, so no plan is slower.

Source: chipmodel.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.model.planner_table import whole_setting
from dma.schedule.streamer import StreamerPortfolio
from dma.streamers import auto

NAME = "exact"
CHAINS = 200
"""Chains where the user gives no number."""
MOST_CHAINS = 10**6
"""Chains that a user may ask for; more is a typing error."""


def with_chains(setting: str) -> StreamerPortfolio:
    """Return the portfolio that tries as many chains as a user writes. Raises BadInput."""
    hint = f"1 to {MOST_CHAINS:,}, as in {NAME}:1000"
    chains = whole_setting(NAME, setting, Interval(1, MOST_CHAINS + 1), "number of chains to try", hint)
    return _portfolio(f"{NAME}:{chains}", chains)


def _portfolio(name: str, chains: int) -> StreamerPortfolio:
    return replace(auto.PORTFOLIO, name=name, paths=chains, searches_offsets=True)


PORTFOLIO = _portfolio(NAME, CHAINS)
