"""Plans as JSON files: what they hold, reading and writing them."""
