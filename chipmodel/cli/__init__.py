"""The command line: one file a command, options and output, no planning."""
