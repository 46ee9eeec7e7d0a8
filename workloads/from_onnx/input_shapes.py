"""Shapes of the model's inputs: by the file, by ``--shape``, or by default (batch size 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from chipmodel.errors import BadInput, UnknownSize
from workloads.from_onnx.graph import Fact
from workloads.from_onnx.onnx_package import GraphProto, ValueInfoProto

Size = int | str
"""A size that the file fixes, or the name of a symbolic size (``?`` without a name)."""


def declared_shape(info: ValueInfoProto) -> tuple[Size, ...] | None:
    """The shape that the file declares, None where it declares none."""
    if not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
        return None
    dims = info.type.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") and d.dim_value else d.dim_param or "?" for d in dims)


def bind_inputs(
    graph: GraphProto,
    known: Mapping[str, Fact],
    shapes: Mapping[str, tuple[int, ...]],
    notes: list[str],
    tensors: Collection[str] = (),
) -> tuple[dict[str, Fact], dict[str, int]]:
    """The graph's inputs with fixed shapes, and the values of symbolic sizes.

    ``shapes`` are those of inputs, and symbolic sizes by name; names of other ``tensors`` are left for those
    who make them. Initializers that are listed as inputs (up to IR version 3), which are in ``known``, are
    left out. Raises BadInput for a ``--shape`` that names nothing or has another rank, and for a size that is
    not fixed.
    """
    infos = [info for info in graph.input if info.name not in known]
    _check_names(infos, shapes, tensors)
    names = {info.name for info in infos}
    symbols = {name: shapes[name][0] for name in _symbols(infos) if name in shapes and name not in names}
    for info in infos:
        if info.name in shapes:
            _bind(info, shapes[info.name], symbols, notes)
    facts = {info.name: _input(info, infos, shapes, symbols, notes) for info in infos}
    return facts, symbols


def _symbols(infos: Sequence[ValueInfoProto]) -> dict[str, str]:
    """An example for each named size of the inputs, without sums of others, in the order of the file."""
    shapes = [declared_shape(info) or () for info in infos]
    named: dict[str, str] = {}
    for size, example in (pair for shape in shapes for pair in zip(shape, _examples(shape), strict=True)):
        if isinstance(size, str) and size != "?" and "+" not in size:
            named.setdefault(size, example)
    return named


def _check_names(
    infos: Sequence[ValueInfoProto], shapes: Mapping[str, tuple[int, ...]], tensors: Collection[str]
) -> None:
    names: list[str] = [info.name for info in infos]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise BadInput(f"the input {twice!r} is listed twice", hint="export the model again")
    symbols = _symbols(infos)
    for name, given in shapes.items():
        if name in symbols and name not in names and len(given) != 1:
            what = f"--shape gives the symbolic size {name!r} {len(given)} sizes"
            raise BadInput(what, hint=f"give one: --shape {name}={given[0] if given else 1}")
        if name not in names and name not in symbols and name not in tensors:
            listing = ", ".join(f"{info.name}{_text(declared_shape(info))}" for info in infos)
            what = f"--shape names {name!r}, which is not an input of the model"
            raise UnknownSize(what, hint=f"its inputs are {listing or 'none'}")


def _bind(info: ValueInfoProto, given: tuple[int, ...], symbols: dict[str, int], notes: list[str]) -> None:
    declared = declared_shape(info)
    if any(size < 0 for size in given) or (declared is not None and len(declared) != len(given)):
        what = f"--shape gives {info.name!r} the shape {_text(given)}; the model has {_text(declared)}"
        hint = f"give {len(declared or given)} sizes: --shape {info.name}={_example(declared)}"
        raise BadInput(what, hint=hint)
    for size, value in zip(declared or (), given, strict=False):
        if isinstance(size, str) and size != "?" and symbols.setdefault(size, value) != value:
            what = f"--shape binds the symbolic size {size!r} to {symbols[size]} and to {value}"
            raise BadInput(what, hint="give inputs that share a symbol the same size")
        if isinstance(size, int) and size != value:
            notes.append(f"input {info.name!r}: --shape replaces the model's size {size} by {value}")


def _input(
    info: ValueInfoProto,
    infos: Sequence[ValueInfoProto],
    shapes: Mapping[str, tuple[int, ...]],
    symbols: dict[str, int],
    notes: list[str],
) -> Fact:
    element = _element(info)
    if info.name in shapes:
        return empty_is_constant(Fact(info.name, shapes[info.name], element))
    declared = declared_shape(info)
    bound = [_value(d, symbols) if isinstance(d, str) else d for d in declared or ()]
    if declared and isinstance(bound[0], str) and all(isinstance(d, int) and d >= 0 for d in bound[1:]):
        notes.append(f"input {info.name!r}: the batch size {bound[0]!r} is taken as 1")
        if bound[0] != "?":
            symbols[bound[0]] = 1
        bound[0] = 1
    sizes = tuple(d for d in bound if isinstance(d, int) and d >= 0)
    if declared is None or len(sizes) < len(declared):
        what = f"the shape of input {info.name!r} is not fixed: {_text(declared)}"
        hint = f"fix it with {_offer(infos, symbols)}--shape {info.name}={_example(declared)}"
        raise BadInput(what, hint=hint)
    return empty_is_constant(Fact(info.name, sizes, element))


def _value(size: str, symbols: Mapping[str, int]) -> Size:
    """The value of a symbolic size or a sum of some (``past + 1``); itself where that is not known."""
    parts = [part.strip() for part in size.split("+")]
    known = [int(part) if part.isdecimal() else symbols.get(part) for part in parts]
    values = [value for value in known if value is not None]
    return symbols.get(size, sum(values) if len(values) == len(parts) else size)


def _offer(infos: Sequence[ValueInfoProto], symbols: Mapping[str, int]) -> str:
    """How ``--shape`` fixes all symbolic sizes that are still open."""
    sizes = [f"{name}={size}" for name, size in _symbols(infos).items() if name not in symbols]
    return f"--shape {','.join(sizes)}, or with " if sizes else ""


def empty_is_constant(fact: Fact) -> Fact:
    """``fact``, as a constant where the tensor is empty (a cache of length 0)."""
    if fact.elements:
        return fact
    import numpy

    empty = numpy.zeros(fact.shape, numpy.float32)
    return Fact(fact.name, fact.shape, fact.element, True, empty, fact.name, fact.element)


def _element(info: ValueInfoProto) -> int:
    if not info.type.HasField("tensor_type") or not info.type.tensor_type.elem_type:
        kind = info.type.WhichOneof("value") or "nothing"
        what = f"the input {info.name!r} is not a tensor with an element type (the file says {kind})"
        raise BadInput(what, hint="export the model with tensor inputs only")
    element: int = info.type.tensor_type.elem_type
    return element


def _text(shape: Sequence[Size] | None) -> str:
    return "[no shape]" if shape is None else f"[{', '.join(map(str, shape))}]"


def _example(shape: Sequence[Size] | None) -> str:
    return ",".join(_examples(shape or ("?",) * 4))


def _examples(shape: Sequence[Size]) -> list[str]:
    """``shape`` with likely numbers where it is open: one image, or one sequence."""
    likely = ["1", "3", "224", "224"] if len(shape) == 4 else ["1", *["128"] * len(shape)]
    if len(shape) == 4 and isinstance(shape[3], int):
        likely[1] = "224"  # channels last
    return [str(d) if isinstance(d, int) and d > 0 else likely[i] for i, d in enumerate(shape)]
