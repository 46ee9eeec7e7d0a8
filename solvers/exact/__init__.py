"""Exact packing: the portfolio, CP-SAT, explanations of infeasible problems."""
