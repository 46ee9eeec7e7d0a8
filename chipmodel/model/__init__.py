"""The vocabulary: frozen values that every stage takes and returns, and no algorithm."""
