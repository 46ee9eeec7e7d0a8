"""Builders of published networks, one file a family."""
