"""The vocabulary and the machine: programs, chips, plans, schedules, simulation."""

__version__ = "0.1.0"
