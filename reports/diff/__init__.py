"""Two runs against each other."""
