"""Compared planners: table, JSON document and page."""
