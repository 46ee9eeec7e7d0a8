"""Lower bounds on the cycles of any plan."""
