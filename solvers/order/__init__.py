"""Orders of ops with the least peak of live bytes, with proof."""
