"""Shared parts of all planners: lowest fit, conflicts, bounds, limits, preprocessing."""
