"""Which items stay in the fast memory, decided for all steps at once."""
