"""Valid examples of every file that chipmodel reads, and what makes them hostile."""
