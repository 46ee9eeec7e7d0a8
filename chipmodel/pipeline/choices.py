"""Words that options choose among, and what is meant where none is given. No planner is imported for them."""

from __future__ import annotations

from typing import Literal

OrderWish = Literal["given", "least-peak", "best"]
Extreme = Literal["best", "worst"]
ExportFormat = Literal["c", "listing", "minimalloc", "csv", "parquet"]

DEFAULT_CHIP = "luna-arcs"
DEFAULT_PACKER = "auto"
DEFAULT_STREAMER = "auto"
VENDOR_STREAMER = "vendor"
"""The streamer that schedules as the chip's own tool does."""
CASCADE_AUTO = "auto"
"""Cascades wherever they are expected to be faster."""
CASCADE_OFF = "off"
"""No cascades: each op runs to its end before the next one."""
SENSITIVITY_STEP = 0.2
"""The share by which ``chipmodel sensitivity`` varies a number of the chip."""
MEMORY_POINTS = 10
"""Sizes of SharedMemory for which ``memory`` makes plans."""

PACKING_PACKER = "exact"
"""Packer of ``pack`` and ``arena``."""
PACK_SECONDS, ARENA_SECONDS, COMPARE_SECONDS = 60.0, 20.0, 10.0
"""Most seconds of a search where the user gives no limit."""
