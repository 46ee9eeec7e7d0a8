"""Files with line and column in every error: YAML, JSON, sizes in bytes, atomic writing, suggestions for
misspelt names."""
