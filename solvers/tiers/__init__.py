"""State search over memory tiers: blocks that move between a fast and a slow memory."""
