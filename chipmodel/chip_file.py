"""Chip files and presets: YAML with the dotted fields of ``chipmodel.chip``, every number with its origin.

A number is a plain scalar (a user's own, marked "given") or ``{value, mark, source}``. A file that
begins with ``base: luna-arcs`` takes from there what it does not give itself.

No pydantic here, as it would take longer to import than all presets to read; the fields are in
``chipmodel.chip_fields``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

from chipmodel.chip import Chip, Dma, Figure, Mark, Npu, Psram, Route, SharedMemory
from chipmodel.chip_fields import FIELDS, read_number
from chipmodel.errors import BadInput, Place
from chipmodel.near import shown, suggest
from chipmodel.yaml_file import Document, read_text, read_yaml

PRESET_FOLDER = Path(__file__).parent / "chips"
TEXTS = ("base", "name", "title")
MARKS: tuple[str, ...] = get_args(Mark)

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Written:
    """A chip file as far as it goes: some of the figures, and their numbers."""

    name: str
    title: str
    figures: Mapping[str, Figure]
    numbers: Mapping[str, Fraction]


def preset_names() -> tuple[str, ...]:
    """The names of the chips that come along, sorted."""
    return tuple(sorted(path.stem for path in PRESET_FOLDER.glob("*.yaml")))


def load_chip(name_or_path: str, overrides: Sequence[str] = ()) -> Chip:
    """The preset of that name, or the chip file at that path, with ``overrides`` such as
    ``psram.clock_mhz=100`` in place of its numbers (of two for one field, the later one counts).

    Raises ``BadInput`` for an unknown name, a file or field that is not there, and any number that
    cannot be.
    """
    written = _read(_find(name_or_path, None), ())
    figures, numbers = dict(written.figures), dict(written.numbers)
    for text in overrides:
        path, value = _override(text)
        numbers[path] = read_number(path, value, Place(f"--set {text}"))
        figures[path] = Figure(value, "given", "--set")
    missing = [path for path in FIELDS if path not in numbers]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        what = f"the chip has no {', '.join(missing[:3])}{more}"
        mend = "add it, or begin with 'base: luna-arcs' to take all other numbers from there"
        raise BadInput(what, where=Place(name_or_path), mend=mend)
    return _chip(written.name, written.title, numbers, {path: figures[path] for path in FIELDS})


def _find(name_or_path: str, origin: Place | None) -> Path:
    """The file of a preset, or the path itself (relative to the file ``origin`` that names it)."""
    if name_or_path in preset_names():
        return PRESET_FOLDER / f"{name_or_path}.yaml"
    path = Path(origin.file).parent / name_or_path if origin else Path(name_or_path)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > (1 if origin is None else len(path.parts)):
        return path
    if path.is_file():
        return path
    mend = suggest(name_or_path, preset_names(), "presets are") + "; or give the path of a chip file"
    raise BadInput(f"no chip is called {shown(name_or_path)}", where=origin, mend=mend)


@cache
def _preset_text(path: Path) -> str:
    return read_text(path)


def _read(path: Path, seen: tuple[Path, ...]) -> _Written:
    """The chip file at ``path`` on top of its base; ``seen`` are the files that lead here."""
    document = read_yaml(_preset_text(path) if path.parent == PRESET_FOLDER else read_text(path), str(path))
    _check_keys(document)
    texts = {key: _text(document, key) for key in TEXTS}
    figures, numbers = _figures(document)
    base = _base(document, texts["base"], path, seen)
    name = texts["name"] or path.stem
    if base is None:
        return _Written(name, texts["title"] or name, figures, numbers)
    title = texts["title"] or f"based on {base.name}"
    return _Written(name, title, {**base.figures, **figures}, {**base.numbers, **numbers})
