"""``auto``: the fastest path over the listed ways to run neighbours, as a plan.

Programs with loops or branches, and those for which no such plan is found, are also planned by several quick
streamers: ``sync`` needs the least memory, ``prefetch-greedy`` is mostly the fastest, and loops want
``resident-knapsack``. A forecast knows no contention for banks or Psram, so plans are
compared by simulation, in the order of their forecasts and only while the next one may be faster.

Source: chipmodel.
"""

from __future__ import annotations

from dma.schedule.streamer import StreamerPortfolio
from dma.streamers import prefetch_greedy, resident_knapsack, sync

PORTFOLIO = StreamerPortfolio(
    "auto",
    (sync.STREAMER, *prefetch_greedy.STREAMERS),
    in_loops=resident_knapsack.STREAMERS,
    paths=1,
    chooses_by_cycles=True,
)
