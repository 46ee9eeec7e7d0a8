"""What stays in SharedMemory, what waits in Psram, and how ops are cut into stripes and slices."""
