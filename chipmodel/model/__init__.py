"""The vocabulary: programs, schedules, commands, plans and traces, as frozen data."""
