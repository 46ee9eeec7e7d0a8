"""Problem in, Solved out: planners of offsets; never sees a clock, a program or a file."""
