"""Chips, random commands and calls of the command line, for many tests."""
