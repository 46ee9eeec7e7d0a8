"""Studies: many (workload, chip, planner) points, stored, resumable, on this machine or a cluster."""
