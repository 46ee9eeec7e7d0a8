"""A workload as a study names it: what it is, a digest of its content, and the thing itself.

``zoo:NAME``, ``onnx:NAME``, ``guillotine:n=60,seed=3``, ``minimalloc:A``, and YAML, ONNX, TensorFlow Lite and
CSV files, relative to the study file. After a ``?`` come ``dtype=int16``, ``shape.NAME=1,3,224,224``,
``iterations.NODE=3``, ``value.NAME=16000`` and ``steady_state=8`` for networks and ``capacity=30KiB`` for
packings, joined by ``&`` together with a built-in network's own options.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown, suggest
from chipmodel.model.plan import PackingTable
from chipmodel.model.program import Program
from chipmodel.records import dataclass
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.states import with_states
from chipmodel.rewrites.steady_state import parse_inferences, steady
from workloads.build.control_options import parse_iterations_option
from workloads.from_onnx.onnx_package import SCHEME, model_file, models
from workloads.load import (
    ONNX_SUFFIX,
    TFLITE_SUFFIX,
    YAML_SUFFIXES,
    load,
    parse_shape_option,
    parse_value_options,
    plugin_suffixes,
)
from workloads.packing.guillotine import guillotine_table
from workloads.packing.problem_csv import read_packing
from workloads.zoo import build, networks, parse_zoo_url

MINIMALLOC = "minimalloc:"
MINIMALLOC_FOLDER = "CHIPMODEL_MINIMALLOC"
"""The environment variable that names the folder of MiniMalloc's instances, NAME.CAPACITY.csv."""
MADE = ("zoo:", "guillotine:")
SUFFIXES = (*YAML_SUFFIXES, ONNX_SUFFIX, TFLITE_SUFFIX, ".csv")

_OURS = re.compile(r"dtype|capacity|steady_state|shape\..+|iterations\..+|value\..+")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a workload comes from. ``file`` is empty where it is made; ``digest`` is of its content."""

    name: str
    """The workload as the study writes it."""
    file: str
    digest: str

    @property
    def packs(self) -> bool:
        """Whether it is a packing: buffers, without a program or a chip."""
        return is_packing(self.name)


def is_packing(name: str) -> bool:
    """Whether the workload is a packing rather than a network."""
    plain = name.partition("?")[0]
    return plain.startswith(("guillotine:", MINIMALLOC)) or plain.lower().endswith(".csv")


def matching(pattern: str, folder: Path) -> list[str]:
    """The workloads that a name with a ``*`` in it stands for, sorted; files are relative to ``folder``.
    Raises BadInput for ``**``."""
    if pattern.startswith("zoo:"):
        return [name for n in networks() if fnmatchcase(name := f"zoo:{n.name}", pattern)]
    if pattern.startswith(SCHEME):
        return [name for model in models() if fnmatchcase(name := f"{SCHEME}{model}", pattern)]
    if pattern.startswith(MINIMALLOC):
        names = (f"{MINIMALLOC}{path.name.partition('.')[0]}" for path in _minimalloc_folder().glob("*.csv"))
        return sorted(name for name in set(names) if fnmatchcase(name, pattern))
    if "**" in pattern:
        hint = "* stands for a part of a name: nets/*.onnx, nets/*/*.onnx"
        raise BadInput(f"{shown(pattern)} has ** in it", hint=hint)
    if Path(pattern).is_absolute():
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))
    return sorted(str(path.relative_to(folder)) for path in folder.glob(pattern))


def source_of(name: str, folder: Path) -> Source:
    """The workload that ``name`` stands for, without reading more of it than its bytes. Raises BadInput."""
    plain, _ = _split(name)
    if plain.startswith("zoo:"):
        build(*parse_zoo_url(plain))
    if plain.startswith(MADE):
        return Source(name, "", sha256(name.encode()).hexdigest())
    path = _file(plain, folder)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES and suffix not in (others := plugin_suffixes()):
        named = f"zoo:NAME, onnx:NAME, guillotine:n=60, {MINIMALLOC}NAME"
        hint = f"give {named}, or a file: {', '.join((*SUFFIXES, *others))}"
        raise BadInput(f"{shown(plain)} is not a workload of a known kind", hint=hint)
    return Source(name, str(path), _digest(path))


def _file(plain: str, folder: Path) -> Path:
    if plain.startswith(MINIMALLOC):
        return _minimalloc(plain)
    return model_file(plain) if plain.startswith(SCHEME) else folder / plain


def load_workload(source: Source) -> Program | PackingTable:
    """The workload itself: a program with in-place reuse as ``simulate`` has it, or a packing whose capacity
    is not to be kept but compared with. Raises BadInput, also for a file that is not as it was."""
    if source.file and _digest(Path(source.file)) != source.digest:
        hint = "run the study again, which then sees the file as it is"
        raise BadInput(f"{shown(source.name)} changed while the study ran", hint=hint)
    plain, options = _split(source.name)
    return _packing(source, plain, options) if source.packs else _program(source, plain, options)


def _program(source: Source, plain: str, options: dict[str, str]) -> Program:
    _refuse_others(source.name, options, ("dtype", "shape.", "iterations.", "value.", "steady_state"))
    shapes = dict(parse_shape_option(_option(k, v)) for k, v in options.items() if k.startswith("shape."))
    iterations = dict(
        parse_iterations_option(_option(k, v)) for k, v in options.items() if k.startswith("iterations.")
    )
    values = parse_value_options(_option(k, v) for k, v in options.items() if k.startswith("value."))
    program = load(
        source.file or plain,
        dtype=options.get("dtype"),
        shapes=shapes,
        iterations=iterations,
        values=values,
    )
    if "steady_state" in options:
        program = steady(with_states(program, ()), parse_inferences(options["steady_state"]))
    return reuse(program, "all")


def _packing(source: Source, plain: str, options: dict[str, str]) -> PackingTable:
    _refuse_others(source.name, options, ("capacity",))
    capacity = parse_bytes(options["capacity"]) if "capacity" in options else None
    if not source.file:
        table = guillotine_table(plain, None)
        capacity = table.known_optimum if capacity is None else capacity
    else:
        table = read_packing(Path(source.file))
        if plain.startswith(MINIMALLOC) and capacity is None:
            capacity = _named_capacity(Path(source.file))
    return replace(table, problem=replace(table.problem, capacity=capacity), notes=())


def _split(name: str) -> tuple[str, dict[str, str]]:
    """The name without the options of ours, and these."""
    plain, _, query = name.partition("?")
    options: dict[str, str] = {}
    rest: list[str] = []
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not _OURS.fullmatch(key) and plain.startswith("zoo:"):
            rest.append(part)
            continue
        if not (_OURS.fullmatch(key) and equals and value) or key in options:
            hint = "write ?dtype=int16&shape.input=1,3,224,224, or ?capacity=30KiB; each once"
            raise BadInput(f"{shown(name)} has the option {shown(part)}", hint=hint)
        options[key] = value
    return plain + ("?" + "&".join(rest) if rest else ""), options


def _option(key: str, value: str) -> str:
    """``shape.data`` and its value as the command line takes them."""
    return f"{key.partition('.')[2]}={value}"


def _refuse_others(name: str, options: dict[str, str], known: tuple[str, ...]) -> None:
    for key in options:
        if not key.startswith(known):
            what = f"{shown(name)}: {key} says nothing about this kind of workload"
            raise BadInput(what, hint=f"leave it out; here {', '.join(known)} may be given")


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            digest = sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(
            f"{shown(str(path))} cannot be read: {reason}", hint="paths are relative to the study file"
        ) from None
    return digest.hexdigest()


def _minimalloc_folder() -> Path:
    folder = os.environ.get(MINIMALLOC_FOLDER, "")
    if not folder or not Path(folder).is_dir():
        hint = f"set {MINIMALLOC_FOLDER} to the folder of MiniMalloc's CSV files"
        raise BadInput(f"{MINIMALLOC}NAME needs the instances, which are not here", hint=hint)
    return Path(folder)


def _minimalloc(name: str) -> Path:
    wanted = name.removeprefix(MINIMALLOC)
    files = {path.name.partition(".")[0]: path for path in sorted(_minimalloc_folder().glob("*.csv"))}
    if wanted not in files:
        raise BadInput(f"there is no {shown(name)}", hint=suggest(wanted, files, "instances are"))
    return files[wanted]


def _named_capacity(path: Path) -> int | None:
    """Bytes in a name such as A.1048576.csv."""
    middle = path.name.split(".")[1:-1]
    return int(middle[-1]) if middle and middle[-1].isascii() and middle[-1].isdigit() else None
