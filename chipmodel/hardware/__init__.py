"""Hardware as data: memories, clocks, DMA engine, NPU, Psram parts, and the chip files that describe them."""
