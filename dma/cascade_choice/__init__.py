"""Cascades: which ops run in stripes, one after another, and in which steps."""
