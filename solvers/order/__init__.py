"""Orders of ops by the bytes that they keep alive, with a proof."""
