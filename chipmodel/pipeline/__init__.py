"""From a program to a checked and simulated plan, on one core or several."""
