"""The documentation's sources, and the commands that write its generated parts."""
