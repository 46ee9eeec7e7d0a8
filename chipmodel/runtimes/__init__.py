"""Plans for the memory of runtimes that run networks on devices."""
