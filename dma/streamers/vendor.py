"""``vendor``: the schedule that the chip's own tool makes, as far as documents and measurements tell.

The chip file says whose loads overlap with computing as the tool's do (``vendor.streamer``), and whether the
tool makes cascades (``vendor.cascades``). The other streamers answer what a chip could take, this one what a
board takes today.

Source: the chip file, which has the origin of both fields.
"""

from __future__ import annotations

from chipmodel.hardware.chip import Chip, VendorStreamer
from dma.schedule.streamer import Streamer, StreamerPortfolio
from dma.streamers import ping_pong, ping_pong_across, prefetch_greedy, sync

_STREAMERS: dict[VendorStreamer, Streamer | StreamerPortfolio] = {
    "sync": sync.STREAMER,
    "ping-pong": ping_pong.STREAMER,
    "ping-pong-across": ping_pong_across.STREAMER,
    "prefetch-greedy": prefetch_greedy.PORTFOLIO,
}


def of_chip(chip: Chip) -> StreamerPortfolio:
    """Return the streamer that ``chip`` names."""
    found, block = _STREAMERS[chip.vendor.streamer], chip.vendor.block_bytes
    if found is sync.STREAMER and block:
        found = sync.in_blocks(block)
    return found if isinstance(found, StreamerPortfolio) else StreamerPortfolio(found.name, (found,))


PORTFOLIO = StreamerPortfolio("vendor", (), of_chip=of_chip)

WITHOUT_ROOM = StreamerPortfolio("vendor", (sync.STREAMER,))
"""For cascades that leave no room to load weights ahead: they are worth more to a tool that makes them."""
