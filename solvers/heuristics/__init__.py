"""Heuristic packers, each as published elsewhere."""
