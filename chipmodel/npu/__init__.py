"""NPU cycles of an op, or of a part of one, on each kind of NPU."""
