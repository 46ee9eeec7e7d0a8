"""Packing problems: CSV files, and random ones whose optimum is known."""
