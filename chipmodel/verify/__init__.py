"""Verifiers of plans, packings and certificates; they share nothing with the planners but the vocabulary."""
