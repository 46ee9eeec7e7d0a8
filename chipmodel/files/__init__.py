"""Read YAML and JSON with line and column in every error, parse sizes in bytes, suggest names, write files
atomically."""
