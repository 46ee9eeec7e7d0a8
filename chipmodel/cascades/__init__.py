"""Cascades: several ops in stripes as one op of the program, and which rows each step reads and makes."""
