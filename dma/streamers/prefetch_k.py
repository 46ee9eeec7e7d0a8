"""``prefetch-k``: ``k`` weight buffers in turn, where ping-pong has two.

The buffers of a straight chain are alive throughout it. More of them let the DMA engine work further ahead
of the NPU, but leave less memory to tensors and make slices smaller. Where no number is given, the one with
the fastest forecast is used.

Source: chipmodel; extends Wang et al. 2025, Algorithm 3 (docs/references.md).
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.model.planner_table import whole_setting
from dma.schedule.streamer import Streamer, StreamerPortfolio
from dma.streamers import ping_pong
from dma.streamers.ping_pong import in_turn

NAME = "prefetch-k"
BUFFER_COUNTS = (1, 3, 4, 6)
"""Numbers of buffers tried besides ping-pong's 2. One is ``sync`` except for the loads of whole tensors."""
MAX_BUFFERS = 64
WEIGHT_FLOOR_DIVISOR = 64
"""Weights keep this part of the memory from tensors: more buffers under every op would force them out."""


def with_buffers(setting: str) -> Streamer:
    """Return the streamer with the number of buffers that a user writes. Raises BadInput."""
    hint = f"1 to {MAX_BUFFERS} buffers, as in {NAME}:3"
    return _streamer(whole_setting(NAME, setting, Interval(1, MAX_BUFFERS + 1), "number of buffers", hint))


def _streamer(buffers: int) -> Streamer:
    streamer = in_turn(buffers, f"{NAME}:{buffers}")
    if buffers == 2:
        return streamer
    return replace(streamer, weight_floor_divisors=(WEIGHT_FLOOR_DIVISOR,), searches_tiers=True)


PORTFOLIO = StreamerPortfolio(NAME, (ping_pong.STREAMER, *map(_streamer, BUFFER_COUNTS)))
