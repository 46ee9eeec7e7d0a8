"""Read chip files and presets: YAML with the fields of ``chipmodel.hardware.fields``, every number with its
origin.

A number is a plain scalar (marked "given": the user's own) or ``{value, mark, source}``. A file with
``base: luna-arcs`` takes every field that it does not give from there. Pydantic is not used, because
importing it takes longer than reading a chip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, cast, get_args

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import listed, shown, suggest
from chipmodel.files.text_file import read_text
from chipmodel.files.yaml_file import read_yaml
from chipmodel.files.yaml_tree import Document
from chipmodel.hardware.chip import (
    CPU_KINDS,
    OVERRIDE,
    ArrayCosts,
    Banks,
    Chip,
    CompiledWeights,
    Cpu,
    Figure,
    Mark,
    Npu,
    SharedMemory,
    Vendor,
)
from chipmodel.hardware.dma_fields import check_controller, dma_of, in_place_of, psram_of, weights_of
from chipmodel.hardware.energy import energy_of
from chipmodel.hardware.ethos_npu import ethos_of
from chipmodel.hardware.ethos_u85 import VARIANTS, EthosU85, ethos_u85_of
from chipmodel.hardware.field_values import Values, read_as
from chipmodel.hardware.fields import FIELDS, MODEL, children, field_at, fields_with, read_choice, read_number
from chipmodel.hardware.further_memories import further_memories_of
from chipmodel.hardware.luna_npu import LUNA_ARCS, LunaNpu
from chipmodel.hardware.measured_networks import read_blind, read_networks
from chipmodel.hardware.ne16_npu import ne16_of
from chipmodel.hardware.plugin_npu import plugin_npu_of
from chipmodel.hardware.vector_cpu import vector_cpu_of
from chipmodel.records import dataclass

PRESET_FOLDER = Path(__file__).parent / "presets"
TEXTS = ("base", "name", "title", "compared_with", "withdrawn")
TABLES = MEASURED, MEASURED_ENERGY, BLIND = "measured", "measured_energy", "blind"
KNOWN = ("compared_with", "withdrawn", *TABLES)
MAX_TEXT = 200
"""Characters of a name, a title, or what a chip was compared with."""
LONGEST_NAME = 255
"""Bytes of a file's name that a system takes; it refuses to say whether a file of a longer one exists."""
DEFAULT_ORIGIN = (
    "not given: the default. Settled by: a value in the chip file, from the chip's documentation."
)
MARKS: tuple[str, ...] = get_args(Mark)

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ChipFields:
    """The fields that a chip file gives, together with its base."""

    name: str
    title: str
    figures: Mapping[str, Figure]
    values: Values
    known: Mapping[str, Any]
    """What it was compared with: the fields ``KNOWN`` of a chip, which no base hands on."""


@cache
def preset_names() -> tuple[str, ...]:
    """The names of the built-in chips, sorted."""
    return tuple(sorted(path.stem for path in PRESET_FOLDER.glob("*.yaml")))


def load_chip(name_or_path: str, overrides: Sequence[str] = ()) -> Chip:
    """The preset of that name, or the chip file at that path, with ``overrides`` such as
    ``psram.clock_mhz=100`` in place of its numbers; of two for one field, the later one counts.

    Raises ``BadInput`` for an unknown name, a missing file or field, and any number outside its limits.
    """
    chip = _finished(_read(_find(name_or_path, None), ()), overrides, Place(name_or_path))
    return replace(chip, source=name_or_path)


def parse_chip(text: str, file: str, overrides: Sequence[str] = ()) -> Chip:
    """``load_chip`` of a chip file's text; ``file`` is its name in messages, and a base is relative to it."""
    return _finished(_parsed(read_yaml(text, file), Path(file), ()), overrides, Place(file))


def with_overrides(chip: Chip, overrides: Sequence[str]) -> Chip:
    """``chip`` with other numbers, written as those of ``load_chip``. Raises ``BadInput`` as that does."""
    values = {path: _value(path, figure.value, Place(path)) for path, figure in chip.figures.items()}
    known = {name: getattr(chip, name) for name in KNOWN}
    written = _ChipFields(chip.name, chip.title, chip.figures, values, known)
    return replace(_finished(written, overrides, Place(chip.name)), source=chip.source)


def _finished(written: _ChipFields, overrides: Sequence[str], where: Place) -> Chip:
    figures, values = dict(written.figures), dict(written.values)
    for text in overrides:
        path, value = _override(text)
        values[path] = _value(path, value, Place(f"--set {path}={value}"))
        figures[path] = Figure(value, "given", OVERRIDE)
    _take_defaults(figures, values)
    fields = fields_with(values, figures).items()
    own = [path for path, f in fields if f.belongs(values) and (path in figures or f.default != "")]
    for path, figure in figures.items():
        _refuse_stray(path, figure, values)
    if missing := [path for path in own if path not in figures]:
        hint = "add it, or take a base that has it; 'chipmodel chips' lists presets, such as luna-arcs"
        raise BadInput(f"the chip has no {listed(missing, 3)}", where=where, hint=hint)
    chip = _chip(written.name, written.title, values, {path: figures[path] for path in own})
    chip = replace(chip, **written.known)
    _check_luna(chip, where)
    _check_ethos_u85(chip, where)
    _check_cpu(chip, where)
    _check_memories(chip, where)
    check_controller(chip, where)
    return chip


def _value(path: str, text: str, where: Place) -> Fraction | str:
    field = field_at(path)
    read = read_choice if field is not None and field.kind == "choice" else read_number
    return read(path, text, where)


def _take_defaults(figures: dict[str, Figure], values: dict[str, Any]) -> None:
    """Add the optional fields that the file leaves out: choices before fields that depend on them."""
    for path, field in fields_with(values, tuple(figures)).items():
        if field.default and path not in figures and field.belongs(values):
            figures[path] = Figure(field.default, "assumed", DEFAULT_ORIGIN)
            values[path] = _value(path, field.default, Place(path))


def _refuse_stray(path: str, figure: Figure, values: Values) -> None:
    """Raise BadInput for a user's number that the chip does not use; one from a base is ignored."""
    field = field_at(path)
    only = field.only if field else None
    if field and only and figure.mark == "given" and not field.belongs(values):
        what = f"{path} means nothing on a chip with {only[0]} = {values.get(only[0], 'nothing')}"
        raise BadInput(
            what, where=Place(figure.source), hint=f"leave it out, or choose {only[0]}={' or '.join(only[1])}"
        )


def _check_luna(chip: Chip, where: Place) -> None:
    """Raise BadInput where LUNA's MACs are not the product of its lanes, or passes save too much."""
    lanes, luna = prod(chip.npu.array), chip.npu.luna
    if luna and chip.npu.macs_per_cycle[8] != lanes:
        what = f"npu.macs_per_cycle.int8 is {chip.npu.macs_per_cycle[8]}, the array has {lanes} lanes"
        raise BadInput(
            what, where=where, hint="set both, so that the product of npu.array.* is npu.macs_per_cycle.int8"
        )
    if luna and luna.most_saving > min(luna.conv_configuration, luna.depthwise_configuration):
        what = f"a pass saves up to {luna.most_saving} cycles of configuration, more than it takes"
        hint = "lower npu.luna.later_pass_saving_cycles, or raise the configuration of passes of both kinds"
        raise BadInput(what, where=where, hint=hint)


def _check_ethos_u85(chip: Chip, where: Place) -> None:
    """Raise BadInput where no variant of Ethos-U85 has as many MACs."""
    macs = chip.npu.macs_per_cycle[8]
    if isinstance(chip.npu.ethos, EthosU85) and macs not in VARIANTS:
        what = f"npu.macs_per_cycle.int8 is {macs}, which no Ethos-U85 has"
        raise BadInput(what, where=where, hint=f"take one of {', '.join(map(str, VARIANTS))}")


def _check_cpu(chip: Chip, where: Place) -> None:
    """Raise BadInput where the CPU would access memory in every cycle and starve the others for ever."""
    if chip.cpu.shared_every == 1:
        what = "cpu.shared_every_cycles is 1: the NPU and the DMA engine might never be served"
        raise BadInput(what, where=where, hint="let it be 0 (never) or at least 2")


def _check_memories(chip: Chip, where: Place) -> None:
    """Raise BadInput where several cores would share further memories, which no plan lays out for them."""
    if chip.memories and chip.cores > 1:
        names = ", ".join(f"memories.{memory.name}" for memory in chip.memories)
        what = f"{chip.cores} cores cannot share {names}: plans lay them out for one core"
        raise BadInput(what, where=where, hint="set cores=1, or leave out memories")


def _find(name_or_path: str, origin: Place | None) -> Path:
    """The file of a preset or path; a path is relative to the file ``origin`` that names it."""
    if name_or_path in preset_names():
        return PRESET_FOLDER / f"{name_or_path}.yaml"
    path = Path(origin.file).parent / name_or_path if origin else Path(name_or_path)
    looks_like_path = path.suffix in (".yaml", ".yml") or "/" in name_or_path or "\\" in name_or_path
    if looks_like_path or (len(path.name.encode()) <= LONGEST_NAME and path.is_file()):
        return path
    hint = f"{suggest(name_or_path, preset_names(), 'presets are')}; or give the path of a chip file"
    raise BadInput(f"no chip is named {shown(name_or_path)}", where=origin, hint=hint)


def _read(path: Path, seen: tuple[Path, ...]) -> _ChipFields:
    """The chip file at ``path`` on top of its base; ``seen`` are the files based on it."""
    if path.parent == PRESET_FOLDER:
        return _preset(path)
    return _parsed(read_yaml(read_text(path), str(path)), path, seen)


@cache
def _preset(path: Path) -> _ChipFields:
    """``_read`` of a preset, none of which is based on itself."""
    return _parsed(read_yaml(read_text(path), str(path)), path, ())


def _parsed(document: Document, path: Path, seen: tuple[Path, ...]) -> _ChipFields:
    """``_read`` of what the file at ``path`` holds."""
    texts = {key: _text(document, key) for key in TEXTS}
    figures, values = _figures(document)
    known = {key: texts[key] if key in texts else _table(document, key) for key in KNOWN}
    name = texts["name"] or path.stem
    if not texts["base"]:
        return _ChipFields(name, texts["title"] or name, figures, values, known)
    where = document.place(("base",))
    base_path = _find(texts["base"], where)
    trail = (*seen, path.resolve())
    if base_path.resolve() in trail:
        hint = "let the base be a preset, or a file with all numbers"
        raise BadInput("the chip is based on itself", where=where, hint=hint)
    base = _read(base_path, trail)
    title = texts["title"] or f"{name}, based on {base.name}"
    own = {path: _of_another(figure) for path, figure in base.figures.items()} | figures
    return _ChipFields(name, title, own, {**base.values, **values}, known)


def _of_another(figure: Figure) -> Figure:
    """A number of a base: its networks decided it, and none of this chip's."""
    return replace(figure, mark="derived") if figure.mark == "fitted" else figure


def _table(document: Document, key: str) -> tuple[object, ...]:
    text = _mapping(document, document.data, ()).get(key, "")
    read = read_blind if key == BLIND else read_networks
    return read(str(text), document.place((key,))) if text else ()


def _text(document: Document, key: str) -> str:
    """The text of ``key`` (name, title or base); empty where the file gives none."""
    value = _mapping(document, document.data, ()).get(key, "")
    if not isinstance(value, str) or (key in cast("Any", document.data) and not value.strip()):
        what = f"'{key}' must be a text, not {shown(value)}"
        raise BadInput(what, where=document.place((key,)), hint="put it in quotes")
    if len(value) > MAX_TEXT or not value.isprintable():
        what = f"'{key}' must be one printable line of at most {MAX_TEXT} characters"
        raise BadInput(what, where=document.place((key,)), hint="shorten it to one line")
    return value.strip()


def _figures(document: Document) -> tuple[dict[str, Figure], Values]:
    figures: dict[str, Figure] = {}
    values: dict[str, Any] = {}
    for keys, value in _leaves(document, document.data, ()):
        path, where = ".".join(keys), document.place(keys)
        if path in figures:
            raise BadInput(f"{path} is given twice", where=where, hint="remove one of the two")
        figures[path] = _figure(document, keys, value)
        values[path] = _value(path, figures[path].value, where)
    return figures, values


def _leaves(document: Document, data: Any, keys: Keys) -> list[tuple[Keys, Any]]:
    """Every value of a field with its keys. Raises ``BadInput`` for a key that is not a field."""
    leaves: list[tuple[Keys, Any]] = []
    for key, value in _mapping(document, data, keys).items():
        here = (*keys, key)
        path = ".".join(here)
        if field_at(path):
            leaves.append((here, value))
        elif key and children(path):
            leaves.extend(_leaves(document, value, here))
        elif keys or key not in (*TEXTS, *TABLES):
            known = children(".".join(keys)) if keys else (*TEXTS, *TABLES, *children(""))
            inside = f" in {'.'.join(keys)}" if keys else ""
            hint = suggest(key, known, "keys here are")
            raise BadInput(f"unknown key {shown(key)}{inside}", where=document.place(here), hint=hint)
    return leaves


def _mapping(document: Document, data: Any, keys: Keys) -> dict[str, Any]:
    if isinstance(data, dict):
        return cast("dict[str, Any]", data)
    what = f"{'.'.join(keys) or 'a chip file'} must be a mapping, not {shown(data)}"
    hint = f"write its fields on indented lines: {', '.join(children('.'.join(keys)))}"
    raise BadInput(what, where=document.place(keys), hint=hint)


def _figure(document: Document, keys: Keys, value: Any) -> Figure:
    """One number with its origin."""
    where = document.place(keys)
    if not isinstance(value, dict):
        return Figure(_scalar(document, keys, value), "given", str(where))
    parts = cast("dict[str, Any]", value)
    for key in parts:
        if key not in ("value", "mark", "source"):
            hint = suggest(key, ("value", "mark", "source"), "keys here are")
            raise BadInput(f"unknown key {shown(key)}", where=document.place((*keys, key)), hint=hint)
    if "value" not in parts:
        raise BadInput(f"{'.'.join(keys)} has no 'value'", where=where, hint="add 'value: ...'")
    text = _scalar(document, (*keys, "value"), parts["value"])
    mark, source = parts.get("mark"), parts.get("source", "")
    if mark not in MARKS:
        problem = f"has the mark {shown(mark)}" if "mark" in parts else "has no 'mark'"
        hint = f"write 'mark: ' and one of {', '.join(MARKS)}"
        raise BadInput(f"{'.'.join(keys)} {problem}", where=document.place((*keys, "mark")), hint=hint)
    if not isinstance(source, str) or not (source.strip() or mark == "given"):
        problem = f"{'.'.join(keys)} is {mark} but has no 'source'"
        hint = "add 'source: ...' with a publication or a reason"
        raise BadInput(problem, where=document.place((*keys, "source")), hint=hint)
    return Figure(text, cast("Mark", mark), " ".join(source.split()) or str(where))


def _scalar(document: Document, keys: Keys, value: Any) -> str:
    """The value as written. Raises ``BadInput`` for what is no scalar or, of a number, true and false."""
    field = field_at(".".join(keys).removesuffix(".value"))
    chosen = isinstance(value, bool) and field is not None and field.kind == "choice"
    if isinstance(value, dict | list) or (isinstance(value, bool) and not chosen) or value is None:
        what = f"{'.'.join(keys)} must be a number, not {shown(cast('Any', value))}"
        raise BadInput(what, where=document.place(keys), hint="write one number")
    return document.written(keys).strip()


def _override(text: str) -> tuple[str, str]:
    """The dotted path and the value of a ``--set`` option."""
    path, equals, value = (part.strip() for part in text.partition("="))
    where = Place(f"--set {path}={value}" if equals else f"--set {text}")
    if not (path and equals and value):
        raise BadInput(
            "this is not FIELD=VALUE",
            where=where,
            hint="write it as in --set psram.clock_mhz=100 (chip(..., psram__clock_mhz=100))",
        )
    if field_at(path) is None:
        if below := children(path):
            hint = "set one of " + ", ".join(f"{path}.{key}" for key in below)
            raise BadInput(f"'{path}' holds several fields", where=where, hint=hint)
        hint = suggest(path, FIELDS, "fields are")
        raise BadInput(f"unknown field {shown(path)}", where=where, hint=hint)
    return path, value


def _chip(name: str, title: str, values: Values, figures: Mapping[str, Figure]) -> Chip:
    banks = None if values["shared_memory.model"] == "flat" else read_as(Banks, "shared_memory.banks", values)
    return Chip(
        name=name,
        title=title,
        core_mhz=values["core_mhz"],
        shared_memory=read_as(SharedMemory, "shared_memory", values, banks=banks),
        psram=psram_of(values),
        dma=dma_of(values),
        npu=_npu(values),
        figures=figures,
        cpu=read_as(Cpu, "cpu", values),
        cores=int(values["cores"]),
        weights=weights_of(values),
        in_place=in_place_of(values),
        compiled=read_as(CompiledWeights, "weights", values),
        vendor=read_as(Vendor, "vendor", values),
        energy=energy_of(values),
        memories=further_memories_of(values),
    )


def _npu(values: Values) -> Npu:
    model = values["npu.model"]
    ethos = {"ethos-u55": ethos_of, "ethos-u85": ethos_u85_of}.get(model)
    axes = ("input_channels", "output_channels", "columns")
    return read_as(
        Npu,
        "npu",
        values,
        macs_per_cycle={bits: values[f"npu.macs_per_cycle.int{bits}"] for bits in (8, 16, 32)},
        array=tuple(int(values[f"npu.array.{axis}"]) for axis in axes),
        luna=_luna(values) if model == "luna" else None,
        costs=_array_costs(values) if model == "array" else ArrayCosts(),
        vector=vector_cpu_of(values) if model == "vector-cpu" else None,
        ethos=ethos(values) if ethos else None,
        ne16=ne16_of(values) if model == "ne16" else None,
        plugin=None if model in FIELDS[MODEL].options else plugin_npu_of(model, values),
    )


def _array_costs(values: Values) -> ArrayCosts:
    cycles = ((kind, values[f"cpu.cycles_per_element.{kind}"]) for kind in CPU_KINDS)
    on_cpu = {kind: each for kind, each in cycles if each}
    pixel = values["cpu.resize_pixel_cycles"]
    return read_as(ArrayCosts, "npu", values, on_cpu=on_cpu, resize_pixel_cycles=pixel)


def _luna(values: Values) -> LunaNpu:
    widths = {8: LUNA_ARCS.width_8, 16: LUNA_ARCS.width_16, 32: LUNA_ARCS.width_32}
    macs = {bits: values[f"npu.macs_per_cycle.int{bits}"] for bits in widths}
    return read_as(
        LunaNpu,
        "npu.luna",
        values,
        in_lanes=int(values["npu.array.input_channels"]),
        out_lanes=int(values["npu.array.output_channels"]),
        columns=int(values["npu.array.columns"]),
        load_bytes_per_cycle=values["npu.read_bytes_per_cycle"],
        store_bytes_per_cycle=values["npu.write_bytes_per_cycle"],
        **{f"width_{bits}": replace(widths[bits], macs_per_cycle=macs[bits]) for bits in widths},
    )
