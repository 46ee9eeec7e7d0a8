"""Building a schedule: steps, Psram layout, forecasts, and what a streamer decides."""
