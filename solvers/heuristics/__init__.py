"""Packers without a proof, each as published elsewhere."""
