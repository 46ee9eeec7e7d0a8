"""Whole networks on boards: what they were measured to take, against what the chip files predict."""
