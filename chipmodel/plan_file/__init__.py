"""Plan files: plans as JSON. A written plan reads back as an equal value, and writes the same bytes again."""
