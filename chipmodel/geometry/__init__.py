"""Ranges of positions, rows, channels, columns and bytes; nothing here knows a program or a chip."""
