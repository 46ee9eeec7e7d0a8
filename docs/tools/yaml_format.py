"""Print the reference of YAML workloads, made from their JSON Schema (``chipmodel schema``).

python -m docs.tools.yaml_format
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from docs.tools.markdown import code, table
from docs.tools.schema_text import Form, default_of, takes
from workloads.from_yaml.schema import schema

SHARED = (
    "name",
    "cycles",
    "core",
    "scratch",
    "out",
    "in",
    "in_place",
    "weights",
    "weight_dtype",
    "bias",
    "activation",
)
"""Keys that many kinds of ops have, described once."""
OP = "What the op does, such as `conv` or `add`: one of the names below. Every op has this key."
CONTROL = ("IfOp", "LoopOp")
MAPPINGS = {"IfArm": "arm", "LoopCarry": "carry", "IterationRange": "iterations", "ShapedTensor": "tensor"}
"""Mappings that are no ops of their own, and what the page calls them."""


def reference() -> Iterator[str]:
    """The file, the keys that many ops share, every kind of op, branches and loops."""
    whole = cast("dict[str, Any]", schema())
    forms = cast("Mapping[str, Form]", whole["$defs"])
    kinds = _kinds(whole)
    yield "## The file\n"
    yield _keys(whole, whole["properties"]) + "\n"
    yield "Element types: " + ", ".join(code(name) for name in whole["properties"]["dtype"]["enum"]) + ".\n"
    yield "## Keys that many ops share\n"
    every = {"op": {"type": "string", "description": OP}, **_shared(forms, kinds)}
    yield _keys({"required": ["op"]}, every) + "\n"
    yield "## Ops\n"
    for name, ops in kinds.items():
        if name not in CONTROL:
            yield from _op(forms[name], ops)
    yield "## Branches, loops, and mappings\n"
    for name in (*CONTROL, *MAPPINGS):
        yield from _op(forms[name], kinds.get(name) or [MAPPINGS[name]], every_key=True)


def _kinds(whole: Mapping[str, Any]) -> dict[str, list[str]]:
    """The ops that each form describes, in the order of their names."""
    kinds: dict[str, list[str]] = {}
    for op, form in whole["properties"]["ops"]["items"]["discriminator"]["mapping"].items():
        kinds.setdefault(form.rpartition("/")[2], []).append(op)
    return kinds


def _shared(forms: Mapping[str, Form], kinds: Iterable[str]) -> dict[str, Form]:
    """The shared keys, each as the first kind of op that has it describes it."""
    return {
        key: next(forms[kind]["properties"][key] for kind in kinds if key in forms[kind]["properties"])
        for key in SHARED
    }


def _op(form: Form, names: list[str], every_key: bool = False) -> Iterator[str]:
    yield "### " + ", ".join(code(name) for name in names) + "\n"
    yield " ".join(str(form.get("description", "")).split()) + "\n"
    properties = cast("Mapping[str, Form]", form["properties"])
    usual = [key for key in SHARED if key in properties and not (every_key or _own(key, form))]
    own = {key: value for key, value in properties.items() if key not in usual and key != "op"}
    if own:
        yield _keys(form, own) + "\n"
    if usual:
        yield "Also takes " + ", ".join(code(key) for key in usual) + ".\n"


def _own(key: str, form: Form) -> bool:
    """Whether a kind of op takes something else for a shared key, such as several tensors for ``in``."""
    return key in ("in", "out") and takes(form["properties"][key]) != "name"


def _keys(form: Form, properties: Mapping[str, Form]) -> str:
    required = cast("list[str]", form.get("required", []))
    rows = [
        [code(key), takes(value), default_of(value, key in required), str(value.get("description", ""))]
        for key, value in properties.items()
    ]
    return table(["key", "takes", "default", "meaning"], rows)


if __name__ == "__main__":
    print("\n".join(reference()))
