"""Read YAML and JSON with line and column in every error, parse sizes, suggest names, write files whole."""
