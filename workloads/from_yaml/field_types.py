"""Types of the values in a YAML workload, and base classes with the keys that several ops share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from chipmodel.files.strict_model import StrictModel

MAX_COUNT = 1 << 40
"""The largest size, count or number of bytes (assumed): a tensor of more is a typing error."""

KeyPath = tuple[str | int, ...]
"""The keys and indices that lead to a value in the file."""

NarrowType = Literal["bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "float16", "bfloat16"]
WideType = Literal["int32", "uint32", "float32", "int64", "uint64", "float64"]
Dtype = Literal[NarrowType, WideType]
Activation = Literal["relu", "relu6", "leaky_relu", "hard_sigmoid", "hard_swish", "sigmoid", "tanh", "silu"]

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$"
BYTES_PATTERN = r"^\s*[0-9]+(,[0-9]{3})*(\.[0-9]+)? *(([KkMmGg][Ii])?[Bb])?\s*$"


def _form(value: Any) -> str:
    if isinstance(value, list):
        return "(list)"
    if isinstance(value, dict):
        return "(mapping)"
    return "(text)" if isinstance(value, str) else "(number)"


def written_as(*forms: str) -> Discriminator:
    """Tell the alternatives of a union by the way in which a value is written; any other is the first one."""
    return Discriminator(lambda value: form if (form := _form(value)) in forms else forms[0])


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
    written_as("(number)", "(text)"),
]
Extent = Annotated[
    Annotated[Count, Tag("(number)")]
    | Annotated[list[Count], Field(min_length=1, max_length=2), Tag("(list)")],
    written_as("(number)", "(list)"),
]
Margin = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[list[Natural], Field(min_length=1, max_length=2), Tag("(list)")],
    written_as("(number)", "(list)"),
]
Padding = Annotated[
    Annotated[Natural, Tag("(number)")]
    | Annotated[Literal["same", "valid"], Tag("(text)")]
    | Annotated[list[Natural], Field(min_length=2, max_length=4), Tag("(list)")],
    written_as("(number)", "(text)", "(list)"),
]


class ShapedTensor(StrictModel):
    """A tensor by shape and element type."""

    shape: Shape
    """The sizes of its axes in ONNX's order: [N, C, H, W], [N, C, L] or [..., features]."""
    dtype: Dtype | None = None
    """Element type; by default the workload's."""


TensorSpec = Annotated[
    Annotated[Shape, Tag("(list)")]
    | Annotated[Count, Tag("(number)")]
    | Annotated[str, Tag("(text)"), WithJsonSchema({"type": "string", "pattern": BYTES_PATTERN})]
    | Annotated[ShapedTensor, Tag("(mapping)")],
    written_as("(number)", "(list)", "(text)", "(mapping)"),
]

NamesIn = Annotated[
    Annotated[Name, Tag("(text)")] | Annotated[list[Name], Tag("(list)")], written_as("(text)", "(list)")
]


class NamedOp(StrictModel):
    """The keys of every op."""

    name: Name | None = None
    """Name of the op and, unless `out` is given, of its output; by default `kind_number`."""


class NpuOp(NamedOp):
    """The keys of every op that runs on the NPU."""

    cycles: Natural | None = None
    """NPU cycles of this op, in place of those by the chip's model."""
    core: Natural | None = None
    """The core that runs this op on a chip with several; by default the planner chooses."""
    scratch: Bytes | None = None
    """Bytes of SharedMemory that the op needs for itself while it runs (12345 or 4KiB), such as a kernel's
    im2col buffer."""


class OneOutputOp(NpuOp):
    """One output."""

    out: Name | None = None
    """Name of the output; by default the op's name."""


class OneInputOp(OneOutputOp):
    """One input, one output."""

    in_: Name | None = Field(None, alias="in")
    """Tensor that it reads; by default the output of the op before."""


class WeightedOp(OneInputOp):
    """An op with weights, which are stored in Psram."""

    weights: Bytes | None = None
    """Bytes of all weights of this op together (12345 or 4KiB), for instance after compression; by default
    their number times their element type."""
    weight_dtype: Dtype | None = None
    """Element type of the weights, except the bias; by default the input's."""


class ActivatedOp(WeightedOp):
    """An op with weights that may apply an activation function to its output."""

    bias: bool = True
    """Whether each output channel has a bias (int32 in integer networks)."""
    activation: Activation | None = None
    """Activation function, applied at no cost while the output is written; write it as an op of its own where
    it takes time."""


class WindowedOp(ActivatedOp):
    """A convolution. The input is [N, C, H, W], or [N, C, L] for a 1-D one."""

    kernel: Extent
    """One number, or [height, width]."""
    stride: Extent = 1
    """One number, or [vertical, horizontal]."""
    dilation: Extent = 1
    """Distance between the kernel's taps."""
    pad: Padding = 0
    """One number for all sides, [vertical, horizontal], [top, left, bottom, right], `same` (output = input /
    stride, rounded up) or `valid` (none). In 1-D: [before, after]."""


class InPlaceOp(OneOutputOp):
    """An element-wise op, whose output may overwrite its input."""

    in_place: bool = False
    """Whether the output overwrites the (first) input, which must have the same size and which nothing may
    read afterwards."""
