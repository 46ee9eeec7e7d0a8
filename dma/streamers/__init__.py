"""Streamers by name: when each transfer is issued, and into which buffer."""
