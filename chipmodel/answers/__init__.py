"""What the commands answer, as frozen data: results, comparisons, studies, budgets, arenas."""
