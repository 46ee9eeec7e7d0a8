"""Programs written in Python: the ops of YAML workloads as methods."""
