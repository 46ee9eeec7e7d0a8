"""Planners: a problem in integers in, a plan out. Nothing here knows a chip, a program or a file."""
