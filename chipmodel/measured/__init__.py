"""Measurements of hardware: tables of cycles and times, what the model predicts for them, and fits."""
