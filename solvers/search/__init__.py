"""The complete search for offsets, compiled on first use."""
