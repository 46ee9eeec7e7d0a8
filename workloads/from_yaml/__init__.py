"""YAML workload files to programs."""
