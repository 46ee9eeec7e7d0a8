"""Chip files and presets: YAML with the dotted fields of ``chipmodel.chip``, every number with its origin.

A number is a plain scalar (a user's own, marked "given") or ``{value, mark, source}``. A file with
``base: luna-arcs`` takes from there what it does not give itself.

No pydantic here, as importing it takes longer than reading a chip; the fields and their limits are
in ``chipmodel.chip_fields``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

from chipmodel.chip import Chip, Dma, Figure, Mark, Npu, Psram, Route, SharedMemory
from chipmodel.chip_fields import FIELDS, children, read_number
from chipmodel.errors import BadInput, Place
from chipmodel.near import shown, suggest
from chipmodel.yaml_file import Document, read_text, read_yaml

PRESET_FOLDER = Path(__file__).parent / "chips"
TEXTS = ("base", "name", "title")
LONGEST_TEXT = 200
MARKS: tuple[str, ...] = get_args(Mark)

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Written:
    """A chip file as far as it goes: its figures, and their numbers."""

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
        mend = "add it, or write 'base: luna-arcs' to take all other numbers from there"
        raise BadInput(
            f"the chip has no {', '.join(missing[:3])}{more}", where=Place(name_or_path), mend=mend
        )
    return _chip(written.name, written.title, numbers, {path: figures[path] for path in FIELDS})


def _find(name_or_path: str, origin: Place | None) -> Path:
    """The file of a preset or of a path, which is relative to the folder of the ``origin`` that names it."""
    if name_or_path in preset_names():
        return PRESET_FOLDER / f"{name_or_path}.yaml"
    path = Path(origin.file).parent / name_or_path if origin else Path(name_or_path)
    looks_like_path = path.suffix in (".yaml", ".yml") or "/" in name_or_path or "\\" in name_or_path
    if looks_like_path or path.is_file():
        return path
    mend = f"{suggest(name_or_path, preset_names(), 'presets are')}; or give the path of a chip file"
    raise BadInput(f"no chip is called {shown(name_or_path)}", where=origin, mend=mend)


def _read(path: Path, seen: tuple[Path, ...]) -> _Written:
    """The chip file at ``path`` on top of its base; ``seen`` are the files that lead to it."""
    document = read_yaml(read_text(path), str(path))
    texts = {key: _text(document, key) for key in TEXTS}
    figures, numbers = _figures(document)
    name = texts["name"] or path.stem
    if not texts["base"]:
        return _Written(name, texts["title"] or name, figures, numbers)
    where = document.place(("base",))
    base_path = _find(texts["base"], where)
    trail = (*seen, path.resolve())
    if base_path.resolve() in trail:
        mend = "let the base be a preset, or a file with all numbers"
        raise BadInput("the chip is based on itself", where=where, mend=mend)
    base = _read(base_path, trail)
    title = texts["title"] or f"{name}, based on {base.name}"
    return _Written(name, title, {**base.figures, **figures}, {**base.numbers, **numbers})


def _text(document: Document, key: str) -> str:
    """The name, title or base; empty where the file gives none."""
    value = _mapping(document, document.data, ()).get(key, "")
    if not isinstance(value, str) or (key in cast("Any", document.data) and not value.strip()):
        what = f"'{key}' must be a text, not {shown(value)}"
        raise BadInput(what, where=document.place((key,)), mend="put it in quotes")
    if len(value) > LONGEST_TEXT or not value.isprintable():
        what = f"'{key}' must be one printable line of at most {LONGEST_TEXT} characters"
        raise BadInput(what, where=document.place((key,)), mend="shorten it to one line")
    return value.strip()


def _figures(document: Document) -> tuple[dict[str, Figure], dict[str, Fraction]]:
    figures: dict[str, Figure] = {}
    numbers: dict[str, Fraction] = {}
    for keys, value in _leaves(document, document.data, ()):
        path, where = ".".join(keys), document.place(keys)
        if path in figures:
            raise BadInput(f"{path} is given twice", where=where, mend="remove one of the two")
        figures[path] = _figure(document, keys, value)
        numbers[path] = read_number(path, figures[path].value, where)
    return figures, numbers


def _leaves(document: Document, data: Any, keys: Keys) -> list[tuple[Keys, Any]]:
    """Every number by the keys that lead to it. Raises ``BadInput`` for a key that is no field."""
    found: list[tuple[Keys, Any]] = []
    for key, value in _mapping(document, data, keys).items():
        here = (*keys, key)
        path = ".".join(here)
        if path in FIELDS:
            found.append((here, value))
        elif key and children(path):
            found.extend(_leaves(document, value, here))
        elif keys or key not in TEXTS:
            known = children(".".join(keys)) if keys else (*TEXTS, *children(""))
            inside = f" in {'.'.join(keys)}" if keys else ""
            mend = suggest(key, known, "keys here are")
            raise BadInput(f"unknown key {shown(key)}{inside}", where=document.place(here), mend=mend)
    return found


def _mapping(document: Document, data: Any, keys: Keys) -> dict[str, Any]:
    if isinstance(data, dict):
        return cast("dict[str, Any]", data)
    what = f"{'.'.join(keys) or 'a chip file'} must be a mapping, not {shown(data)}"
    mend = f"write its fields on indented lines: {', '.join(children('.'.join(keys)))}"
    raise BadInput(what, where=document.place(keys), mend=mend)


def _figure(document: Document, keys: Keys, value: Any) -> Figure:
    """One number with its origin."""
    where = document.place(keys)
    if not isinstance(value, dict):
        return Figure(_scalar(document, keys, value), "given", str(where))
    parts = cast("dict[str, Any]", value)
    for key in parts:
        if key not in ("value", "mark", "source"):
            mend = suggest(key, ("value", "mark", "source"), "keys here are")
            raise BadInput(f"unknown key {shown(key)}", where=document.place((*keys, key)), mend=mend)
    if "value" not in parts:
        raise BadInput(f"{'.'.join(keys)} has no 'value'", where=where, mend="add 'value: ...'")
    text = _scalar(document, (*keys, "value"), parts["value"])
    mark, source = parts.get("mark"), parts.get("source", "")
    if mark not in MARKS:
        problem = f"has the mark {shown(mark)}" if "mark" in parts else "has no 'mark'"
        mend = f"write 'mark: ' and one of {', '.join(MARKS)}"
        raise BadInput(f"{'.'.join(keys)} {problem}", where=document.place((*keys, "mark")), mend=mend)
    if not isinstance(source, str) or not (source.strip() or mark == "given"):
        problem = f"{'.'.join(keys)} is {mark} but has no 'source'"
        mend = "add 'source: ...' that says who says so, or why"
        raise BadInput(problem, where=document.place((*keys, "source")), mend=mend)
    return Figure(text, cast("Mark", mark), " ".join(source.split()) or str(where))


def _scalar(document: Document, keys: Keys, value: Any) -> str:
    """The number as written. Raises ``BadInput`` for a list, a mapping, nothing, true and false."""
    if isinstance(value, dict | list | bool) or value is None:
        what = f"{'.'.join(keys)} must be a number, not {shown(cast('Any', value))}"
        raise BadInput(what, where=document.place(keys), mend="write one number")
    return document.written(keys).strip()


def _override(text: str) -> tuple[str, str]:
    """(dotted path, value) of a ``--set``."""
    path, equals, value = (part.strip() for part in text.partition("="))
    where = Place(f"--set {text}")
    if not (path and equals and value):
        raise BadInput("this is no FIELD=VALUE", where=where, mend="write it as in --set psram.clock_mhz=100")
    if path not in FIELDS:
        below = children(path)
        if below:
            mend = "set one of " + ", ".join(f"{path}.{key}" for key in below)
            raise BadInput(f"'{path}' holds several fields", where=where, mend=mend)
        mend = suggest(path, FIELDS, "fields are")
        raise BadInput(f"unknown field {shown(path)}", where=where, mend=mend)
    return path, value


def _chip(name: str, title: str, numbers: Mapping[str, Fraction], figures: Mapping[str, Figure]) -> Chip:
    def whole(path: str) -> int:
        return int(numbers[path])

    def route(path: str) -> Route:
        overhead = numbers[f"{path}.burst_overhead_clocks"]
        return Route(whole(f"{path}.setup_cycles"), whole(f"{path}.burst_bytes"), overhead)

    array = (
        whole("npu.array.input_channels"),
        whole("npu.array.output_channels"),
        whole("npu.array.columns"),
    )
    return Chip(
        name=name,
        title=title,
        core_mhz=numbers["core_mhz"],
        shared_memory=SharedMemory(whole("shared_memory.bytes"), whole("shared_memory.alignment")),
        psram=Psram(whole("psram.bytes"), numbers["psram.clock_mhz"], numbers["psram.bytes_per_clock"]),
        dma=Dma(route("dma.load"), route("dma.store")),
        npu=Npu(
            {bits: numbers[f"npu.macs_per_cycle.int{bits}"] for bits in (8, 16, 32)},
            array,
            numbers["npu.read_bytes_per_cycle"],
            numbers["npu.write_bytes_per_cycle"],
        ),
        figures=figures,
    )
