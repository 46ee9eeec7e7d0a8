"""Cycles of a DMA transfer: bursts, beats, refresh, routes, public controllers."""
