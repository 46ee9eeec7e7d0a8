"""What stays in SharedMemory, which ops become cascades, and when each transfer is issued."""
