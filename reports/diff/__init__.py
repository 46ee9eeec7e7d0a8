"""Differences between two simulated runs."""
