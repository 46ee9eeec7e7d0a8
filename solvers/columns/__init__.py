"""Ways to run a stretch of neighbouring ops, each with its bytes and cycles, and the best path over them."""
