"""Choice of the items that stay in the fast memory, for all steps at once."""
