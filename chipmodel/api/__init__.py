"""What ``import chipmodel`` offers: the command line's work as functions with typed answers."""
