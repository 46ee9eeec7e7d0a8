"""Exports of plans and results to the formats of other tools."""
