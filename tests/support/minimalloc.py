"""MiniMalloc's instances, which are not in the repository."""

import os
from pathlib import Path

CAPACITY = 1 << 20
"""Bytes in which each of them fits."""


def instances() -> list[Path]:
    """The CSV files in the folder that CHIPMODEL_MINIMALLOC names; none where it names none."""
    folder = os.environ.get("CHIPMODEL_MINIMALLOC")
    return sorted(Path(folder).glob("*.csv")) if folder else []
