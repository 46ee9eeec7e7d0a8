"""The machine that runs commands: two simulators, the DMA engine, the banks of SharedMemory."""
