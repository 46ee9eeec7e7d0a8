"""The model against measurements: a table for the terminal, and a page with a scatter chart."""
