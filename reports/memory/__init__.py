"""The smallest SharedMemory of a program and what more is worth: words, JSON document and page."""
