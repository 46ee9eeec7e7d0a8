"""Building programs op by op, and random ones."""
