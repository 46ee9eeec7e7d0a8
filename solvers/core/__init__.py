"""What all packers share: lowest fit, conflicts, bounds, limits, preprocessing."""
