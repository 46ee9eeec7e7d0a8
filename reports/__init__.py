"""Trace and Solved in, terminal summary, trace files and one self-contained HTML page out."""
