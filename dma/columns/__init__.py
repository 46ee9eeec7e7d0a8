"""The ways to run a stretch of neighbouring ops, as integers: what the bound on cycles ranges over."""
