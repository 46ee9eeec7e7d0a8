"""Load the workload that the user names, as a validated Program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Unpack

from chipmodel.answers.listed import Listed, listed_by_name
from chipmodel.entry_points import Plugin, described, plugin_named, plugin_names, plugin_rows
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.files.text_file import decoded, read_text
from chipmodel.model.program import Program
from chipmodel.passes.validate import validate_program
from workloads.build.read_options import ReadOptions
from workloads.from_onnx.onnx_package import SCHEME, model_file
from workloads.from_tflite.schema import IDENTIFIER
from workloads.plugin import imported_program
from workloads.zoo import SCHEME as ZOO_SCHEME, build, networks, parse_zoo_url

YAML_SUFFIXES = (".yaml", ".yml")
ONNX_SUFFIX = ".onnx"
TFLITE_SUFFIX = ".tflite"
ACCEPTED = (
    "FILE.yaml (or .yml), FILE.onnx, FILE.tflite, zoo:NAME (such as zoo:resnet18, zoo:resnet18?input=448) "
    "or onnx:NAME (such as onnx:light_squeezenet)"
)

_SHAPE_OPTION = re.compile(r"(?P<name>.+)=(?P<sizes>[0-9]+(,[0-9]+)*)")

_NEXT_NAME = re.compile(r",(?=[^,=]*[^,=0-9\s][^,=]*=)")
"""The comma before the next ``NAME=`` of an option with several names."""


def load(source: str, **options: Unpack[ReadOptions]) -> Program:
    """The program that ``source`` names, read as ``Reading`` says.

    That is a YAML, ONNX or TensorFlow Lite file, ``zoo:NAME?key=value&...``, or ``onnx:NAME``, a model in the
    onnx package. Raises ``BadInput`` for any mistake, TimeIsOver at the deadline.
    """
    file = str(model_file(source)) if source.startswith(SCHEME) else source
    program = _load(file, options)
    validate_program(program)
    return program


def load_bytes(data: bytes, name: str, **options: Unpack[ReadOptions]) -> Program:
    """``load`` of a file's contents, whose kind is known by them; ``name`` is what messages call the file,
    and where data beside an ONNX file is sought. Raises ``BadInput`` for any mistake."""
    suffix = TFLITE_SUFFIX if data[4:8] == IDENTIFIER else Path(name).suffix.lower()
    if suffix in (TFLITE_SUFFIX, *YAML_SUFFIXES):
        _refuse_values(options)
    program = _read(suffix, name, data, options)
    validate_program(program)
    return program


def _refuse_values(options: ReadOptions) -> None:
    for name in options.get("values", {}):
        raise BadInput(f"--value {name}=...: values are of inputs of ONNX models only", hint="leave it out")


def _read(suffix: str, name: str, data: bytes | None, options: ReadOptions) -> Program:
    """The program in a file, or in ``data`` if given; ONNX unless the suffix is another."""
    if suffix in YAML_SUFFIXES:
        text = read_text(Path(name)) if data is None else decoded(data, name)
        from workloads.from_yaml.program import parse_yaml_program  # imports pydantic and yaml

        return parse_yaml_program(text, name, **options)
    if suffix == TFLITE_SUFFIX:
        from workloads.from_tflite.program import load_tflite  # imports the schema's readers

        return load_tflite(Path(name), data, **options)
    from workloads.from_onnx.program import load_onnx  # takes 0.1 s, needed for ONNX files only

    return load_onnx(Path(name), data, **options)


def _load(source: str, options: ReadOptions) -> Program:
    iterations = options.get("iterations", {})
    if iterations and Path(source).suffix.lower() not in (ONNX_SUFFIX, TFLITE_SUFFIX):
        name = next(iter(iterations))
        what = f"--iterations {name}=...: only ONNX and TFLite files have loops whose iterations are open"
        raise BadInput(what, hint=f"choose the iterations of one run: --path {name}=3")
    if Path(source).suffix.lower() != ONNX_SUFFIX:
        _refuse_values(options)
    if source.startswith(ZOO_SCHEME):
        return _from_zoo(source, options.get("dtype"), options.get("shapes", {}))
    suffix = Path(source).suffix.lower()
    if suffix in (ONNX_SUFFIX, TFLITE_SUFFIX, *YAML_SUFFIXES):
        return _read(suffix, source, None, options)
    importer = plugin_named("importer", suffix.removeprefix("."))
    if importer:
        for option, word in (("dtype", "dtype"), ("shapes", "shape"), ("strict", "strict")):
            if options.get(option):
                raise BadInput(f"--{word} says nothing about {suffix} files", hint="leave it out")
        return imported_program(importer, source)
    raise _not_accepted(source)


_BUILT_IN = listed_by_name(
    Listed(suffix.removeprefix("."), title, source)
    for suffix, title, source in (
        *((suffix, "a workload in YAML", "chipmodel") for suffix in YAML_SUFFIXES),
        (ONNX_SUFFIX, "an ONNX model", "ONNX"),
        (TFLITE_SUFFIX, "a TensorFlow Lite model", "TensorFlow"),
    )
)


def importers() -> Mapping[str, Listed]:
    """Every importer by its name, a suffix without the dot, plug-ins last. Warns of unusable plug-ins."""
    return {**_BUILT_IN, **plugin_rows("importer", _BUILT_IN, _row_of)}


def _row_of(plugin: Plugin) -> Listed:
    return Listed(plugin.name, *described(plugin, "read"))


def plugin_suffixes() -> tuple[str, ...]:
    """Suffixes of files that importers of other packages read."""
    return tuple(f".{name}" for name in plugin_names("importer", _BUILT_IN))


def _from_zoo(source: str, dtype: str | None, shapes: Mapping[str, tuple[int, ...]]) -> Program:
    name, options = parse_zoo_url(source)
    if shapes:
        tensor, shape = next(iter(shapes.items()))
        what = f"a shape is given for {tensor!r}, but {source} has its own"
        hint = f"remove it, or use the network's options: {ZOO_SCHEME}{name}?input={shape[-1]}"
        raise BadInput(what, hint=hint)
    return build(name, options, dtype)


def _not_accepted(source: str) -> BadInput:
    names = [network.name for network in networks()]
    word = source.partition("?")[0].lower()
    if word in names:
        hint = f"for the built-in network write {ZOO_SCHEME}{source.replace(source[: len(word)], word, 1)}"
        return BadInput(f"{shown(source)} is not a file of a known kind", hint=hint)
    hint = ""
    if not Path(source).suffix:
        near = suggest(word, names, "").partition("?")
        hint = f"; {near[0].replace(chr(39), ZOO_SCHEME, 1).replace(chr(39), '')}?" if near[1] else ""
    more = "".join(f", FILE{suffix}" for suffix in plugin_suffixes())
    return BadInput(f"{shown(source)} is not a workload of a known kind", hint=f"give {ACCEPTED}{more}{hint}")


def parse_shape_option(text: str) -> tuple[str, tuple[int, ...]]:
    """The input's name and shape from ``data=1,3,224,224``. Raises ``BadInput``."""
    match = _SHAPE_OPTION.fullmatch(text.strip())
    if match is None:
        raise _bad_shape(text, "is not NAME=SIZE,SIZE,...")
    sizes = match["sizes"].split(",")
    if any(len(size) > 13 for size in sizes):
        raise _bad_shape(text, "has a size of more than 13 digits")
    shape = tuple(int(size) for size in sizes)
    if 0 in shape:
        raise _bad_shape(text, "has a size of 0")
    return match["name"], shape


def parse_shape_options(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Sizes by name, of several options or of several names in one: ``batch=1,seq=128``. Raises BadInput."""
    return dict(parse_shape_option(part) for text in texts for part in _NEXT_NAME.split(text))


def parse_value_options(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Numbers by an input's name, of several options or of several names in one: ``sr=16000,on=true``.
    Raises BadInput."""
    return dict(_value_option(part) for text in texts for part in _NEXT_NAME.split(text))


def _value_option(text: str) -> tuple[str, tuple[float, ...]]:
    name, _, numbers = text.strip().rpartition("=")
    try:
        values = tuple(map(_number, numbers.split(",")))
    except ValueError:
        values = ()
    if not (name and values):
        what = f"the value {shown(text)} is not NAME=NUMBER,NUMBER,..."
        raise BadInput(what, hint="write an input's name and its values, row by row: sr=16000, on=true")
    return name, values


def _number(text: str) -> float:
    """A boolean, a whole or a finite number. Raises ValueError."""
    if text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return int(text) if text.strip().lstrip("+-").isdecimal() else number


def _bad_shape(text: str, problem: str) -> BadInput:
    return BadInput(
        f"the shape {shown(text)} {problem}", hint="write an input's name and sizes: data=1,3,224,224"
    )
