"""The model against tables of measurements, and fitted to them."""
