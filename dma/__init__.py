"""Psram and DMA timing, and the streamers that decide when each transfer is issued."""
