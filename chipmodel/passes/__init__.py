"""Passes from a program to a schedule, a packing problem and commands; checks of a program before them."""
