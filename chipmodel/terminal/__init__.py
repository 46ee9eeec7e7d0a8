"""Everything that is printed: text that only shows, whatever the stream; progress messages."""
