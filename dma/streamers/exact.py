"""``exact``: as many of the fastest paths over the listed ways as are asked for, each packed and simulated.

They come in the order of their cycles (``solvers.columns.path``). A plan that takes no more than the bound
over all listed ways is the best of them, and nothing else is tried. The first path is that of ``auto``, so no
plan is slower.

Source: chipmodel.
"""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
from chipmodel.model.planner_table import whole_setting
from dma.schedule.streamer import StreamerPortfolio
from dma.streamers import ping_pong_across, prefetch_greedy, resident_knapsack

NAME = "exact"
PATHS = 200
"""Paths where the user gives no number."""
MOST_PATHS = 10**6
"""Paths that a user may ask for; more is a typing error."""


def with_paths(setting: str) -> StreamerPortfolio:
    """Return the portfolio that tries as many paths as a user writes. Raises BadInput."""
    hint = f"1 to {MOST_PATHS:,}, as in {NAME}:1000"
    paths = whole_setting(NAME, setting, Interval(1, MOST_PATHS + 1), "number of paths to try", hint)
    return _portfolio(f"{NAME}:{paths}", paths)


def _portfolio(name: str, paths: int) -> StreamerPortfolio:
    return StreamerPortfolio(
        name,
        prefetch_greedy.PORTFOLIO.candidates,
        in_loops=(ping_pong_across.STREAMER, resident_knapsack.PROBE),
        paths=paths,
        chooses_by_cycles=True,
        searches_offsets=True,
    )


PORTFOLIO = _portfolio(NAME, PATHS)
