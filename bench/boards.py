"""Boards whose whole networks were measured: presets, and the examples in ``docs/examples/chips``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chipmodel.measured
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import PRESET_FOLDER, load_chip

TABLES = Path(chipmodel.measured.__file__).parent / "tables"
EXAMPLES = Path(__file__).parent.parent / "docs" / "examples" / "chips"
"""Chip files of boards of which nothing is promised, and their tables."""


def board_names() -> list[str]:
    """The boards that have a table, sorted."""
    return sorted(path.stem for folder in (TABLES, EXAMPLES) for path in folder.glob("*.csv"))


def table_path(board: str) -> Path:
    """The table of a board."""
    name = f"{board}.csv"
    return EXAMPLES / name if (EXAMPLES / name).exists() else TABLES / name


def chip_path(board: str) -> Path:
    """The chip file of a board: a preset's, or an example's."""
    name = f"{board}.yaml"
    return EXAMPLES / name if (EXAMPLES / name).exists() else PRESET_FOLDER / name


def load_board(board: str, overrides: Sequence[str] = ()) -> Chip:
    """``load_chip`` of a board, a preset, or the path of a chip file. Raises BadInput as that does."""
    example = EXAMPLES / f"{board}.yaml"
    return load_chip(str(example) if example.exists() else board, overrides)
