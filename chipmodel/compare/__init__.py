"""Several planners on one workload."""
