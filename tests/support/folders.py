"""Folders that tests read from, wherever the test itself lies."""

from pathlib import Path

import onnx

ROOT = Path(__file__).parents[2]
"""The checkout."""
WORKLOADS = ROOT / "workloads"
"""Example workloads, packing problems and studies."""
HARDWARE = ROOT / "tests" / "data" / "hardware"
"""Tables of measurements; README.md beside them names their origins."""
LIGHT_MODELS = Path(onnx.__file__).parent / "backend/test/data/light"
"""Models that the onnx package carries for its own tests."""


def data(name: str) -> str:
    """The text of ``tests/data/NAME``."""
    return (ROOT / "tests" / "data" / name).read_text(encoding="utf-8")
