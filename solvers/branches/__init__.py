"""Mergers: how the arms of a branch share memory."""
