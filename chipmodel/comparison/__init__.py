"""Comparisons of several planners on one workload."""
