"""Context-aware packers: each buffer is placed with regard to those allocated after it."""
