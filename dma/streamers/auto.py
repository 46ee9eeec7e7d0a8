"""``auto``: several quick streamers, and the one whose plan takes the fewest simulated cycles.

No quick streamer is best everywhere: ``sync`` needs the least memory, ``prefetch-greedy`` is mostly the
fastest, and loops want ``ping-pong-across`` or ``resident-knapsack``. ``ping-pong`` and
``weight-pipeline`` gain nothing beside these (``python -m bench.switched_off`` names the rows). A forecast
knows no contention for banks or Psram, so plans are compared by simulation, in the order of their forecasts
and only while the next one may be faster (``chipmodel.pipeline.rounds``).

Source: chipmodel.
"""

from __future__ import annotations

from dma.schedule.streamer import StreamerPortfolio
from dma.streamers import exact, ping_pong_across, prefetch_greedy, resident_knapsack, sync

PORTFOLIO = StreamerPortfolio(
    "auto",
    (sync.STREAMER, prefetch_greedy.PROBE),
    in_loops=(ping_pong_across.STREAMER, resident_knapsack.PROBE),
    in_stripes=(
        exact.quick("prefetch-greedy by-time 8", "tiers", 8, 2),
        exact.quick("prefetch-greedy by-time 2", "tiers", 2, 1),
        exact.quick("prefetch-greedy by-time greedy", "greedy", 2, 1),
    ),
    chooses_by_cycles=True,
)
