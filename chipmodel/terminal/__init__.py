"""Progress messages on stderr."""
