"""The vocabulary and the machine: programs, chips, plans, schedules, simulation."""
