"""The YAML workload format as pydantic models: what every key is called, takes and means.

These models check types, ranges and unknown keys; names, shapes and lifetimes are checked where
the program is built (``workloads.from_yaml.program``). ``schema`` gives the same as a JSON Schema, for
editors.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from workloads.from_yaml.field_types import Base, Dtype, Model, Name, Natural, Probability, TensorSpec, Title
from workloads.from_yaml.op_models import SimpleOp


class Arm(Model):
    """An arm of an `if` of which more is said than its ops."""

    ops: list[AnyOp] = Field(default_factory=list["AnyOp"], description="The arm's ops; [] for none.")
    probability: Probability | None = Field(
        None,
        description="How likely the arm is taken, from 0 to 1; left out: an equal share of what the others "
        "leave.",
    )
    exit: bool = Field(
        False,
        description="Whether the list of ops that the `if` stands in ends here, as at an early exit: what "
        "follows the `if` does not run. All arms but one may exit.",
    )


class If(Base):
    """Exactly one arm runs. An op of an arm may read every tensor from before the `if`."""

    op: Literal["if"]
    condition: Name | None = Field(
        None, description="The tensor that decides; left out: something outside the network decides."
    )
    arms: Annotated[dict[Name, AnyArm], Field(min_length=2)] = Field(
        description="Each arm's name and ops, or {ops, probability, exit}; [] for an arm that does nothing."
    )
    outputs: dict[Name, dict[Name, Name]] = Field(
        default_factory=dict[str, dict[str, str]],
        description="What may be read after the `if`: {result: {arm: tensor, other_arm: tensor}}. An arm's "
        "own tensor becomes the result at no cost; a tensor from before the `if` is copied into it. Where "
        "arms exit, the one that goes on may give what the ops behind the `if` make, and the result is there "
        "when they are over.",
    )


class Carry(Model):
    """A tensor that each iteration of a loop reads and the next one finds changed."""

    from_: Name = Field(
        alias="from", description="The tensor with the first iteration's value; copied before the loop."
    )
    next: Name = Field(
        description="The tensor with the next iteration's value; copied at the end of each iteration."
    )


class Bounds(Model):
    """Any number of iterations in a range, all equally likely."""

    most: Natural = Field(description="The largest number of iterations.")
    least: Natural = Field(0, description="The smallest number of iterations.")


class Loop(Base):
    """The ops run `iterations` times. Only what is carried or collected may be read afterwards."""

    op: Literal["loop"]
    iterations: Iterations = Field(
        description="How often the ops run: a number; {most, least} where any number in between is equally "
        "likely; or {iterations: probability, ...}."
    )
    carry: dict[Name, Carry] = Field(
        default_factory=dict[str, Carry],
        description="Tensors that go from iteration to iteration: {h: {from: h0, next: h_new}}. "
        "`h` is what the ops "
        "read; after the loop it holds the last value.",
    )
    each: dict[Name, Name] = Field(
        default_factory=dict[str, str],
        description="Tensors of which each iteration reads a slice of its own "
        "along the first axis: {x_t: x}.",
    )
    collect: dict[Name, Name] = Field(
        default_factory=dict[str, str],
        description="What the iterations make, stacked along a new first axis: {y: y_t}. "
        "`y` may be read after "
        "the loop.",
    )
    ops: Annotated[list[AnyOp], Field(min_length=1)] = Field(description="What one iteration does, in order.")


def _form_of_arm(value: Any) -> str:
    return "(mapping)" if isinstance(value, dict) else "(list)"


def _form_of_iterations(value: Any) -> str:
    if not isinstance(value, dict):
        return "(number)"
    return "(bounds)" if {"most", "least"} & value.keys() else "(table)"


AnyArm = Annotated[
    Annotated[list["AnyOp"], Tag("(list)")] | Annotated[Arm, Tag("(mapping)")], Discriminator(_form_of_arm)
]

# The numbers of iterations are checked by the loader, whose message says what is wrong with one.
ITERATIONS = re.compile("^(0|[1-9][0-9]{0,11})$")
Iterations = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[Bounds, Tag("(bounds)")]
    | Annotated[
        dict[Annotated[str, WithJsonSchema({"type": "string", "pattern": ITERATIONS.pattern})], Probability],
        Field(min_length=1),
        Tag("(table)"),
    ],
    Discriminator(_form_of_iterations),
]

AnyOp = Annotated[SimpleOp | If | Loop, Field(discriminator="op")]


class Workload(Model):
    """A workload: what the network reads, what it does in which order, what it gives."""

    name: Title = Field(description="The workload's name.")
    dtype: Dtype = Field(
        "int8", description="The element type of every tensor and weight that does not say its own."
    )
    inputs: dict[Name, TensorSpec] = Field(
        description="Each input's name and size: a shape, {shape, dtype}, or plain bytes (4096, 4KiB)."
    )
    ops: Annotated[list[AnyOp], Field(min_length=1)] = Field(
        description="The ops, in the order in which they run."
    )
    outputs: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="The tensors that the network gives; left out: what the last op gives."
    )


Arm.model_rebuild()
If.model_rebuild()
Loop.model_rebuild()
Workload.model_rebuild()


def schema() -> dict[str, object]:
    """The JSON Schema (draft 2020-12) of the format, for editors and other tools."""
    described = Workload.model_json_schema()
    _close(described)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described,
        "title": "chipmodel workload",
    }


def _close(form: object) -> None:
    """Forbid the keys that are no names wherever names are keys; pydantic leaves them open."""
    if isinstance(form, list):
        for item in cast("list[object]", form):
            _close(item)
    if isinstance(form, dict):
        fields = cast("dict[str, object]", form)
        for item in list(fields.values()):
            _close(item)
        if "patternProperties" in fields:
            fields["additionalProperties"] = False
