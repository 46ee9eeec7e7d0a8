"""From program to schedule to commands: validation, order of ops, in-place reuse, liveness, lowering."""
