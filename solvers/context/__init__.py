"""Context-aware packers: each buffer is placed with a view of those allocated after it."""
