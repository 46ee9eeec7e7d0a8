"""Print the methods of ``chipmodel.Network``, one for each kind of op, made from the YAML format's models.

python -m docs.tools.network_layers
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, cast, get_args

from docs.tools.schema_text import Form
from workloads.from_python.shared_keys import (
    InPlaceKeys,
    LayerKeys,
    NamedKeys,
    NpuKeys,
    OutputKeys,
    WeightKeys,
)
from workloads.from_yaml.field_types import Activation, Dtype
from workloads.from_yaml.schema import schema

CONTROL = ("IfOp", "LoopOp")
WIDTH = 110
KEYS = (LayerKeys, WeightKeys, InPlaceKeys, OutputKeys, NpuKeys, NamedKeys)
GROUPS = {keys.__name__: keys.__optional_keys__ for keys in KEYS}
"""Groups of keys that many kinds of ops share, the largest first."""
HEAD = """# Every kind of op as a method, made from the models of the YAML format by
# python -m docs.tools.network_layers; not edited by hand.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from workloads.from_python.shared_keys import (
    InPlaceKeys,
    LayerKeys,
    NamedKeys,
    NpuKeys,
    OutputKeys,
    WeightKeys,
)
from workloads.from_yaml.field_types import Dtype

class Layers(ABC):
    __slots__ = ()
    def __init__(self) -> None: ...
    @abstractmethod
    def _append(
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any]
    ) -> tuple[str, ...]: ..."""


def module() -> Iterator[str]:
    """The whole module: a method for each kind of op."""
    whole = cast("dict[str, Any]", schema())
    forms = cast("Mapping[str, Form]", whole["$defs"])
    yield HEAD
    for op, reference in sorted(whole["properties"]["ops"]["items"]["discriminator"]["mapping"].items()):
        name = reference.rpartition("/")[2]
        if name not in CONTROL:
            yield _method(op, forms[name])


def _method(name: str, form: Form) -> str:
    """The method of one kind of op."""
    properties = {k: v for k, v in cast("Mapping[str, Form]", form["properties"]).items() if k != "op"}
    required = cast("list[str]", form.get("required", []))
    taken = properties.pop("in", None)
    several = properties.get("out", {}).get("type") in ("array", "object")
    group = next(name for name, keys in GROUPS.items() if _has(properties, keys))
    own = [key for key in properties if key not in GROUPS[group]]
    order = sorted(own, key=lambda key: key not in required)
    parameter = _inputs(name, taken)
    parts = ["self", *([parameter] if parameter else [])]
    parts += ["*"] if order and not parameter.startswith("*") else []
    parts += [f"{key}: {_annotation(properties[key], key in required)}" for key in order]
    parts.append(f"**keys: Unpack[{group}]")
    lines = _wrapped(f"    def {name}(", parts, f") -> {'tuple[str, ...]' if several else 'str'}:")
    lines += _docstring(form, {key: properties[key] for key in order})
    return "\n".join(lines) + "\n"


def _has(properties: Mapping[str, Form], keys: Collection[str]) -> bool:
    """Whether an op has all ``keys`` of a group, and ``out`` is one name."""
    return all(key in properties for key in keys) and (
        "out" not in keys or properties["out"].get("type") not in ("array", "object")
    )


def _wrapped(begin: str, parts: Sequence[str], end: str) -> list[str]:
    """A signature on one line, on one line of its own, or on a line for each part, as ruff has it."""
    whole = begin + ", ".join(parts) + end
    if len(whole) <= WIDTH:
        return [whole]
    indent = " " * (len(begin) - len(begin.lstrip()))
    inner = f"{indent}    {', '.join(parts)}"
    if len(inner) <= WIDTH:
        return [begin, inner, indent + end]
    return [begin, *(f"{indent}    {part}," for part in parts), indent + end]


def _inputs(op: str, form: Form | None) -> str:
    """The parameter of the tensors that an op reads."""
    if form is None or op == "custom":
        return "inputs: Sequence[str] | None = None" if form else ""
    return "x: str | None = None" if "array" not in str(form) else "*inputs: str"


def _annotation(form: Form, required: bool) -> str:
    kinds = list(dict.fromkeys(_kinds(form)))
    if required:
        return " | ".join(kinds)
    return " | ".join([*(kind for kind in kinds if kind != "None"), "None"]) + " = None"


def _kinds(form: Form) -> Iterator[str]:
    """The Python types of a value."""
    for key in ("anyOf", "oneOf"):
        if key in form:
            for each in cast("list[Form]", form[key]):
                yield from _kinds(each)
            return
    if "enum" in form:
        names = tuple(cast("list[str]", form["enum"]))
        known = {get_args(Dtype): "Dtype", get_args(Activation): "Activation"}
        yield known.get(names) or f"Literal[{', '.join(repr(n) for n in names)}]".replace("'", '"')
        return
    kind = str(form.get("type", ""))
    if kind == "array":
        inner = list(dict.fromkeys(_kinds(cast("Form", form["items"]))))
        yield f"Sequence[{' | '.join(inner)}]"
        return
    plain = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
    yield plain.get(kind, "Mapping[str, Any]")


def _docstring(form: Form, properties: Mapping[str, Form]) -> list[str]:
    """What the op is, then its keys, one paragraph each."""
    text = " ".join(str(form.get("description", "")).replace("`", "``").split())
    indent = " " * 8
    lines = wrap(f'"""{text}', WIDTH, initial_indent=indent, subsequent_indent=indent)
    if not properties:
        short = len(lines[-1]) + 3 <= WIDTH
        return [*lines[:-1], f'{lines[-1]}"""'] if short else [*lines, f'{indent}"""']
    lines.append("")
    for key, value in properties.items():
        said = str(value.get("description", "")).replace("`", "``")
        lines += wrap(f"``{key}``: {said}", WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    return [*lines, f'{indent}"""']


if __name__ == "__main__":
    print("\n".join(module()), end="")
