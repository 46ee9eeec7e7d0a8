"""The YAML workload format as pydantic models: names, types and meanings of its keys.

These models check types, ranges and unknown keys; names, shapes and lifetimes are checked where the program
is built (``workloads.from_yaml.program``). ``schema`` gives the format as a JSON Schema, for editors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from inspect import getsource
from itertools import pairwise
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from chipmodel.files.strict_model import StrictModel
from workloads.from_yaml.field_types import (
    Dtype,
    Name,
    NamedOp,
    Natural,
    Probability,
    ShapedTensor,
    TensorSpec,
    Title,
    written_as,
)
from workloads.from_yaml.op_models import SimpleOp


class IfArm(StrictModel):
    """One alternative of an `if`, with more than its ops."""

    ops: list[AnyOp] = Field(default_factory=list["AnyOp"])
    """The arm's ops; [] for none."""
    probability: Probability | None = None
    """Probability that the arm is taken, from 0 to 1; by default an equal share of what the other arms
    leave."""
    exit: bool = False
    """Whether the arm is an early exit: the ops that follow the `if` in its list do not run. All arms but one
    may exit."""


class IfOp(NamedOp):
    """A branch: exactly one arm runs. The ops of an arm may read all tensors from before the `if`."""

    op: Literal["if"]
    condition: Name | None = None
    """Tensor that decides which arm runs; by default that is decided outside the network."""
    arms: Annotated[dict[Name, AnyArm], Field(min_length=2)]
    """Name and ops of each arm, or {ops, probability, exit}; [] for an arm without ops."""
    outputs: dict[Name, dict[Name, Name]] = Field(default_factory=dict[str, dict[str, str]])
    """Tensors that may be read after the `if`: {result: {arm: tensor, other_arm: tensor}}. A tensor that the
    arm makes becomes the result at no cost; one from before the `if` is copied. Where arms exit, the arm that
    goes on may name a tensor that the ops after the `if` make; the result then exists at the end of the
    list."""


class LoopCarry(StrictModel):
    """A tensor that a loop updates from iteration to iteration."""

    from_: Name = Field(alias="from")
    """Tensor with the value for the first iteration; copied before the loop."""
    next: Name
    """Tensor with the value for the next iteration; copied at the end of each iteration."""


class IterationRange(StrictModel):
    """A range of numbers of iterations, all equally likely."""

    max: Natural
    """The largest number of iterations."""
    min: Natural = 0
    """The smallest number of iterations."""


class LoopOp(NamedOp):
    """A loop. Only the tensors in `carry` and `collect` may be read after it."""

    op: Literal["loop"]
    iterations: Iterations
    """How often the ops run: a number; {min, max} for any number in this range, all equally likely; or
    {iterations: probability, ...}."""
    carry: dict[Name, LoopCarry] = Field(default_factory=dict[str, LoopCarry])
    """Tensors that are updated from iteration to iteration: {h: {from: h0, next: h_new}}. The ops read `h`;
    after the loop it holds the last value."""
    each: dict[Name, Name] = Field(default_factory=dict[str, str])
    """Tensors that each iteration reads one slice of, along the first axis: {slice: tensor}."""
    collect: dict[Name, Name] = Field(default_factory=dict[str, str])
    """Tensors that the iterations make, stacked along a new first axis: {result: slice}. The result may be
    read after the loop."""
    ops: Annotated[list[AnyOp], Field(min_length=1)]
    """The ops of one iteration, in execution order."""


def _form_of_iterations(value: Any) -> str:
    if not isinstance(value, dict):
        return "(number)"
    keys = cast("dict[object, object]", value).keys()
    digits = any(each.isdigit() for key in keys for each in str(key))
    return "(range)" if {"min", "max"} & keys or (keys and not digits) else "(table)"


AnyArm = Annotated[
    Annotated[list["AnyOp"], Tag("(list)")] | Annotated[IfArm, Tag("(mapping)")],
    written_as("(list)", "(mapping)"),
]

# The numbers of iterations are checked by the loader, whose message says what is wrong with one.
ITERATIONS = re.compile("^(0|[1-9][0-9]{0,11})$")
Iterations = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[IterationRange, Tag("(range)")]
    | Annotated[
        dict[Annotated[str, WithJsonSchema({"type": "string", "pattern": ITERATIONS.pattern})], Probability],
        Field(min_length=1),
        Tag("(table)"),
    ],
    Discriminator(_form_of_iterations),
]

AnyOp = Annotated[SimpleOp | IfOp | LoopOp, Field(discriminator="op")]


class YamlWorkload(StrictModel):
    """A workload: the inputs, ops and outputs of a network."""

    name: Title
    """The workload's name."""
    dtype: Dtype = "int8"
    """Element type of all tensors and weights that do not state their own."""
    inputs: dict[Name, TensorSpec]
    """Name and size of each input: a shape, {shape, dtype}, or bytes (4096, 4KiB)."""
    ops: Annotated[list[AnyOp], Field(min_length=1)]
    """The ops, in execution order."""
    outputs: Annotated[list[Name], Field(min_length=1)] | None = None
    """Tensors that the network outputs; by default those of the last op."""


IfArm.model_rebuild()
IfOp.model_rebuild()
LoopOp.model_rebuild()
YamlWorkload.model_rebuild()


def schema() -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of the format, for editors and other tools."""
    described: dict[str, Any] = YamlWorkload.model_json_schema()
    nested = (*get_args(SimpleOp), IfArm, IfOp, LoopCarry, IterationRange, LoopOp, ShapedTensor)
    for model in nested:
        _describe(described["$defs"][model.__name__], model)
    _describe(described, YamlWorkload)
    _close(described)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described,
        "title": "chipmodel workload",
    }


def _describe(form: dict[str, Any], model: type[StrictModel]) -> None:
    """Add the texts below the fields of ``model``."""
    for base in reversed(model.__mro__):
        for name, text in _field_texts(base) if issubclass(base, StrictModel) else ():
            key = model.model_fields[name].alias or name
            plain = form["properties"][key] | {"description": " ".join(text.split())}
            form["properties"][key] = dict(sorted(plain.items()))


def _field_texts(model: type) -> Iterator[tuple[str, str]]:
    """The fields that a class itself has, with the text below each."""
    (definition,) = ast.parse(getsource(model)).body
    for field, below in pairwise(cast("ast.ClassDef", definition).body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, text
            case _:
                pass


def _close(form: object) -> None:
    """Forbid keys that cannot be names, where pydantic allows any key."""
    if isinstance(form, list):
        for item in cast("list[object]", form):
            _close(item)
    if isinstance(form, dict):
        fields = cast("dict[str, object]", form)
        for item in list(fields.values()):
            _close(item)
        if "patternProperties" in fields:
            fields["additionalProperties"] = False
