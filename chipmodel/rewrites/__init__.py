"""Rewrites from a program to an equivalent program, and what they need to know of an op's operands."""
