"""Lower bounds on cycles, each for a space of plans."""
