"""What the values of a YAML workload may be, and what groups of ops have in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

MAX_COUNT = 1 << 40
"""No size, count or number of bytes may be larger: a tensor of more is a slip of the pen."""

Dtype = Literal[
    "bool",
    "int4",
    "uint4",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "uint32",
    "float32",
    "int64",
    "uint64",
    "float64",
]
Activation = Literal["relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_swish", "sigmoid", "tanh", "silu"]

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$"
BYTES_PATTERN = r"^\s*[0-9]+(,[0-9]{3})*(\.[0-9]+)? *(([KkMmGg][Ii])?[Bb])?\s*$"


def _form(value: Any) -> str:
    """Which of the ways to write a value was taken: the tags of the unions below."""
    if isinstance(value, list):
        return "(list)"
    if isinstance(value, dict):
        return "(mapping)"
    return "(text)" if isinstance(value, str) else "(number)"


# Names are checked by the loader, whose message says what a name may look like.
Name = Annotated[str, WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
Title = Annotated[str, Field(min_length=1, max_length=100)]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Natural = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Probability = Annotated[float, Field(ge=0, le=1)]
Axis = Annotated[int, Field(ge=-8, le=7)]
Shape = Annotated[list[Count], Field(min_length=1, max_length=8)]
Bytes = Annotated[
    Annotated[Count, Tag("(number)")]
    | Annotated[str, Tag("(text)"), WithJsonSchema({"type": "string", "pattern": BYTES_PATTERN})],
    Discriminator(lambda v: "(text)" if isinstance(v, str) else "(number)"),
]
Extent = Annotated[
    Annotated[Count, Tag("(number)")]
    | Annotated[list[Count], Field(min_length=1, max_length=2), Tag("(list)")],
    Discriminator(lambda v: "(list)" if isinstance(v, list) else "(number)"),
]
Margin = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[list[Natural], Field(min_length=1, max_length=2), Tag("(list)")],
    Discriminator(lambda v: "(list)" if isinstance(v, list) else "(number)"),
]
Padding = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[Literal["same", "valid"], Tag("(text)")]
    | Annotated[list[Natural], Field(min_length=2, max_length=4), Tag("(list)")],
    Discriminator(
        lambda v: "(list)" if isinstance(v, list) else "(text)" if isinstance(v, str) else "(number)"
    ),
]


class Model(BaseModel):
    """No unknown keys, no conversions: a text is never taken for a number, nor true for 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Shaped(Model):
    """A tensor in full."""

    shape: Shape = Field(description="The sizes in ONNX's order: [N, C, H, W], [N, C, L] or [..., features].")
    dtype: Dtype | None = Field(None, description="The element type, if it is not the workload's.")


TensorSpec = Annotated[
    Annotated[Shape, Tag("(list)")]
    | Annotated[Count, Tag("(number)")]
    | Annotated[str, Tag("(text)"), WithJsonSchema({"type": "string", "pattern": BYTES_PATTERN})]
    | Annotated[Shaped, Tag("(mapping)")],
    Discriminator(_form),
]

NamesIn = Annotated[
    Annotated[Name, Tag("(text)")] | Annotated[list[Name], Tag("(list)")],
    Discriminator(lambda v: "(list)" if isinstance(v, list) else "(text)"),
]


class Base(Model):
    """What every op takes."""

    name: Name | None = Field(
        None, description="The op's name, and its output's unless `out` is given. Left out: kind and number."
    )


class Costed(Base):
    """What every op takes that runs on the NPU."""

    cycles: Natural | None = Field(
        None, description="NPU cycles of this op, in place of what the chip's model would say."
    )
    core: Natural | None = Field(
        None, description="The core that runs this op on a chip of many; left out: the planner chooses."
    )


class OneOutput(Costed):
    """One output."""

    out: Name | None = Field(None, description="What to call the output; left out: the op's name.")


class Single(OneOutput):
    """One input, one output."""

    in_: Name | None = Field(
        None, alias="in", description="The tensor it reads; left out: the output of the op before."
    )


class Weighted(Single):
    """An op with weights of its own, which lie in Psram."""

    weights: Bytes | None = Field(
        None,
        description="Bytes of all of this op's weights together (12345 or 4KiB), for instance after "
        "compression; left out: their natural size.",
    )
    weight_dtype: Dtype | None = Field(
        None, description="The element type of the weights, if it is not the input's; the bias keeps its own."
    )


class Activated(Weighted):
    """A weighted op that may apply an activation as it writes its output."""

    bias: bool = Field(
        True, description="Whether each output channel has a bias (int32 in integer networks)."
    )
    activation: Activation | None = Field(
        None,
        description="Applied as the output is written, at no cost; one that costs is an op of its own.",
    )


class Windowed(Activated):
    """A convolution. The input is [N, C, H, W], or [N, C, L] for a 1-D one."""

    kernel: Extent = Field(description="One number, or [height, width].")
    stride: Extent = Field(1, description="One number, or [vertical, horizontal].")
    pad: Padding = Field(
        0,
        description="One number for all sides, [vertical, horizontal], [top, left, bottom, right], `same` "
        "(output = input / stride, rounded up) or `valid` (none). In 1-D: [before, after].",
    )


class InPlace(OneOutput):
    """An element-wise op, whose output may take its input's memory."""

    in_place: bool = Field(
        False,
        description="Write the output over the (first) input, which nothing may read afterwards and which "
        "must have the output's size.",
    )
