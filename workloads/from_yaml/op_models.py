"""The ops of the YAML workload format that hold no other ops, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from workloads.from_yaml.field_types import (
    MAX_COUNT,
    Activated,
    Axis,
    Base,
    Bytes,
    Costed,
    Count,
    Dtype,
    Extent,
    InPlace,
    Margin,
    Name,
    NamesIn,
    Natural,
    OneOutput,
    Padding,
    Shape,
    Single,
    TensorSpec,
    Weighted,
    Windowed,
)


class Conv(Windowed):
    """1-D or 2-D convolution, grouped or not."""

    op: Literal["conv"]
    channels: Count = Field(description="Output channels.")
    dilation: Extent = Field(1, description="Distance between the kernel's taps.")
    groups: Count = Field(
        1, description="Groups of channels that are convolved apart; divides both channel counts."
    )


class DepthwiseConv(Windowed):
    """Every input channel convolved with kernels of its own."""

    op: Literal["depthwise_conv"]
    dilation: Extent = Field(1, description="Distance between the kernel's taps.")
    multiplier: Count = Field(1, description="Output channels per input channel.")


class TransposedConv(Windowed):
    """Transposed convolution (deconvolution)."""

    op: Literal["transposed_conv"]
    channels: Count = Field(description="Output channels.")
    dilation: Extent = Field(1, description="Distance between the kernel's taps.")
    groups: Count = Field(
        1, description="Groups of channels that are convolved apart; divides both channel counts."
    )
    output_pad: Margin = Field(0, description="Rows and columns added to the output's end.")


class Dense(Activated):
    """Fully connected: the last axis of the input times a matrix of weights."""

    op: Literal["dense"]
    features: Count = Field(description="Output features.")


class Matmul(OneOutput):
    """The product of two activations; leading axes are broadcast."""

    op: Literal["matmul"]
    in_: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        alias="in", description="The left and the right matrix."
    )
    transpose_right: bool = Field(
        False, description="Read the right matrix with its last two axes swapped, at no cost."
    )


class Pool(Single):
    """Max or average pooling over a window. The input is [N, C, H, W] or [N, C, L]."""

    op: Literal["max_pool", "average_pool"]
    kernel: Extent = Field(description="One number, or [height, width].")
    stride: Extent | None = Field(None, description="One number, or a pair; left out: the kernel.")
    pad: Padding = Field(0, description="As for `conv`.")
    ceil: bool = Field(False, description="Round the output's size up instead of down.")


class GlobalPool(Single):
    """Pooling of every channel over the whole image."""

    op: Literal["global_average_pool", "global_max_pool"]


class Recurrent(Weighted):
    """A recurrent layer over [steps, batch, features]; its output is [steps, batch, hidden],
    with `bidirectional` [steps, batch, 2 * hidden]."""

    op: Literal["rnn", "gru", "lstm"]
    hidden: Count = Field(description="Hidden units of one direction.")
    bidirectional: bool = Field(
        False, description="Whether a second direction runs from the end to the start."
    )


class Unary(InPlace):
    """One input, element by element."""

    op: Literal[
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "gelu",
        "silu",
        "hard_sigmoid",
        "hard_swish",
        "sigmoid",
        "tanh",
        "exp",
        "log",
        "sqrt",
        "abs",
        "neg",
        "clip",
        "round",
    ]
    in_: Name | None = Field(
        None, alias="in", description="The tensor it reads; left out: the output of the op before."
    )


class Binary(InPlace):
    """Two or more inputs, element by element, broadcast as NumPy does."""

    op: Literal["add", "sub", "mul", "div", "min", "max", "pow"]
    in_: NamesIn | None = Field(
        None,
        alias="in",
        description="[a, b, ...]; with `constant` one name, which may be left out.",
    )
    constant: Shape | None = Field(
        None, description="The shape of a second operand that is a weight, such as [1, 64, 1, 1]."
    )


class Normalisation(Weighted):
    """`batch_norm`, `instance_norm` and `group_norm` scale and shift the channels (axis 1);
    `layer_norm` scales and shifts the axes from `axis` on, `rms_norm` only scales them."""

    op: Literal["batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm"]
    axis: Axis = Field(-1, description="`layer_norm`, `rms_norm`: the first axis that is normalised over.")
    groups: Count = Field(1, description="`group_norm`: groups of channels.")


class Prelu(Weighted):
    """ReLU with one learned slope per channel (axis 1)."""

    op: Literal["prelu"]


class Along(Single):
    """`softmax` along an axis, or the index of the largest element there (`argmax`, int32)."""

    op: Literal["softmax", "argmax"]
    axis: Axis = Field(-1, description="The axis; -1 is the last. `argmax` removes it.")


class Concat(OneOutput):
    """Tensors one after another along an axis."""

    op: Literal["concat"]
    in_: Annotated[list[Name], Field(min_length=2)] = Field(alias="in", description="The tensors, in order.")
    axis: Axis = Field(1, description="The axis along which they are joined; 1 is the channels.")


class Split(Costed):
    """A tensor cut into several along an axis."""

    op: Literal["split"]
    in_: Name | None = Field(
        None, alias="in", description="The tensor it reads; left out: the output of the op before."
    )
    out: Annotated[list[Name], Field(min_length=2)] = Field(description="The names of the pieces, in order.")
    axis: Axis = Field(1, description="The axis along which it is cut; 1 is the channels.")
    sizes: Annotated[list[Count], Field(min_length=2)] | None = Field(
        None, description="The size of each piece along the axis; left out: equal pieces."
    )


class Slice(Single):
    """A range of a tensor along one axis."""

    op: Literal["slice"]
    axis: Axis = Field(description="The axis along which it is cut.")
    start: int = Field(
        0, ge=-MAX_COUNT, le=MAX_COUNT, description="The first index; negative counts from the end."
    )
    stop: int | None = Field(
        None, ge=-MAX_COUNT, le=MAX_COUNT, description="The index after the last; left out: to the end."
    )


class Transpose(Single):
    """Axes in another order; every byte is moved. (`reshape` moves none.)"""

    op: Literal["transpose"]
    order: Annotated[list[Natural], Field(min_length=1, max_length=8)] = Field(
        description="For every output axis the input axis, such as [0, 2, 3, 1]."
    )


class Pad(Single):
    """Elements added around a tensor."""

    op: Literal["pad"]
    before: Annotated[list[Natural], Field(max_length=8)] = Field(description="How many at each axis' start.")
    after: Annotated[list[Natural], Field(max_length=8)] = Field(description="How many at each axis' end.")


class Resize(Single):
    """An image [N, C, H, W] or signal [N, C, L] made larger or smaller."""

    op: Literal["resize"]
    scale: Count | None = Field(None, description="How many times higher and wider. Either this or `size`.")
    size: Annotated[list[Count], Field(min_length=1, max_length=2)] | None = Field(
        None, description="The output's [height, width], or [length]."
    )


class BlockMove(Single):
    """Blocks of pixels to channels (`space_to_depth`) or back (`depth_to_space`, pixel shuffle)."""

    op: Literal["space_to_depth", "depth_to_space"]
    block: Count = Field(description="Height and width of a block.")


class Reduce(Single):
    """Sum, mean, largest or smallest over some axes."""

    op: Literal["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"]
    axes: Annotated[list[Axis], Field(min_length=1, max_length=8)] = Field(
        description="The axes that are reduced."
    )
    keep: bool = Field(True, description="Whether they stay as axes of size 1.")


class View(Base):
    """The same bytes under another shape: no op, no cycles. `flatten` gives [N, features]."""

    op: Literal["reshape", "flatten"]
    in_: Name | None = Field(
        None, alias="in", description="The tensor it views; left out: the output of the op before."
    )
    out: Name | None = Field(None, description="What to call the view; left out: the op's name.")
    shape: Annotated[list[Annotated[int, Field(ge=-1, le=MAX_COUNT)]], Field(max_length=8)] | None = Field(
        None, description="`reshape`: the new shape; one -1 is worked out."
    )


class Embedding(Weighted):
    """Rows looked up in a table of weights. Only the rows that are looked up are read from Psram."""

    op: Literal["embedding"]
    rows: Count = Field(description="Rows of the table (the vocabulary).")
    features: Count = Field(description="Elements of a row; becomes the output's last axis.")
    dtype: Dtype | None = Field(None, description="The output's element type, if it is not the workload's.")


class Copy(Single):
    """The same bytes in another place."""

    op: Literal["copy"]


class Cast(Single):
    """Another element type: quantise, dequantise, widen, narrow."""

    op: Literal["cast"]
    dtype: Dtype = Field(description="The output's element type.")


class Custom(Costed):
    """Anything else, in plain bytes and cycles."""

    op: Literal["custom"]
    in_: NamesIn | None = Field(
        None,
        alias="in",
        description="The tensors it reads; [] for none; left out: the output of the op before.",
    )
    out: Annotated[dict[Name, TensorSpec], Field(min_length=1)] = Field(
        description="Each output's name and size: bytes (4096, 4KiB), a shape, or {shape, dtype}."
    )
    weights: Bytes | None = Field(None, description="Bytes of its weights in Psram (12345 or 4KiB).")
    rows: Count = Field(
        1,
        description="Equal, independent parts that it may be cut into where memory is short; 1: not at all.",
    )


SimpleOp = (
    Conv
    | DepthwiseConv
    | TransposedConv
    | Dense
    | Matmul
    | Pool
    | GlobalPool
    | Recurrent
    | Unary
    | Binary
    | Normalisation
    | Prelu
    | Along
    | Concat
    | Split
    | Slice
    | Transpose
    | Pad
    | Resize
    | BlockMove
    | Reduce
    | View
    | Embedding
    | Copy
    | Cast
    | Custom
)
