"""The vocabulary: programs, schedules, commands, plans, traces and results, as frozen data."""
