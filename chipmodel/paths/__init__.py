"""Best, worst and expected cycles over the paths through branches and loops."""
