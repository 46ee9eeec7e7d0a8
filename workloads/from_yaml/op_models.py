"""The ops of the YAML workload format that hold no other ops, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from chipmodel.model.attributes import CornerRule, ResizeMode
from workloads.from_yaml.field_types import (
    MAX_COUNT,
    ActivatedOp,
    Axis,
    Bytes,
    Count,
    Dtype,
    Extent,
    InPlaceOp,
    Margin,
    Name,
    NamedOp,
    NamesIn,
    Natural,
    NpuOp,
    OneInputOp,
    OneOutputOp,
    Padding,
    Shape,
    TensorSpec,
    WeightedOp,
    WindowedOp,
)

Curve = Literal["relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "hard_sigmoid", "hard_swish"]
Function = Literal["sigmoid", "tanh", "exp", "log", "sqrt", "abs", "neg", "clip", "round"]


class ConvOp(WindowedOp):
    """1-D or 2-D convolution, grouped or not."""

    op: Literal["conv"]
    channels: Count
    """Output channels."""
    groups: Count = 1
    """Groups of channels that are convolved separately; divides both channel counts."""


class DepthwiseConvOp(WindowedOp):
    """Every input channel convolved with kernels of its own."""

    op: Literal["depthwise_conv"]
    multiplier: Count = 1
    """Output channels per input channel."""


class TransposedConvOp(WindowedOp):
    """Transposed convolution (deconvolution)."""

    op: Literal["transposed_conv"]
    channels: Count
    """Output channels."""
    groups: Count = 1
    """Groups of channels that are convolved separately; divides both channel counts."""
    output_pad: Margin = 0
    """Rows and columns added to the output's end."""


class DenseOp(ActivatedOp):
    """Fully connected: the last axis of the input times a matrix of weights."""

    op: Literal["dense"]
    features: Count
    """Output features."""


class MatmulOp(OneOutputOp):
    """The product of two activations; leading axes are broadcast."""

    op: Literal["matmul"]
    in_: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(alias="in")
    """The left and the right matrix."""
    transpose_right: bool = False
    """Whether the last two axes of the right matrix are swapped while it is read, at no cost."""


class PoolOp(OneInputOp):
    """Max or average pooling over a window. The input is [N, C, H, W] or [N, C, L]."""

    op: Literal["max_pool", "average_pool"]
    kernel: Extent
    """One number, or [height, width]."""
    stride: Extent | None = None
    """One number, or [vertical, horizontal]; by default the kernel."""
    pad: Padding = 0
    """Rows and columns of zeros, as for `conv`."""
    ceil: bool = False
    """Whether the output's size is rounded up instead of down."""


class GlobalPoolOp(OneInputOp):
    """Pooling of each channel over the whole image."""

    op: Literal["global_average_pool", "global_max_pool"]


class RecurrentOp(WeightedOp):
    """A recurrent layer over [steps, batch, features]; its output is [steps, batch, hidden],
    with `bidirectional` [steps, batch, 2 * hidden]."""

    op: Literal["rnn", "gru", "lstm"]
    hidden: Count
    """Hidden units of one direction."""
    bidirectional: bool = False
    """Whether a second direction runs from the end to the start."""


class UnaryOp(InPlaceOp):
    """One input, element by element."""

    op: Literal[Curve, Function]
    in_: Name | None = Field(None, alias="in")
    """Tensor that it reads; by default the output of the op before."""


class BinaryOp(InPlaceOp):
    """Two or more inputs, element by element, broadcast as NumPy does."""

    op: Literal["add", "sub", "mul", "div", "min", "max", "pow"]
    in_: NamesIn | None = Field(None, alias="in")
    """[a, b, ...]; with `constant`, one tensor, by default the output of the op before."""
    constant: Shape | None = None
    """Shape of a second operand that is a weight, such as [1, 64, 1, 1]."""


class NormalisationOp(WeightedOp):
    """`batch_norm`, `instance_norm` and `group_norm` scale and shift the channels (axis 1);
    `layer_norm` scales and shifts the axes from `axis` on, `rms_norm` only scales them."""

    op: Literal["batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm"]
    axis: Axis = -1
    """`layer_norm`, `rms_norm`: the first axis that is normalised over."""
    groups: Count = 1
    """`group_norm`: groups of channels."""


class PreluOp(WeightedOp):
    """ReLU with one learned slope per channel (axis 1)."""

    op: Literal["prelu"]


class AlongAxisOp(OneInputOp):
    """`softmax` along an axis, or the index of the largest element along it (`argmax`, int32)."""

    op: Literal["softmax", "argmax"]
    axis: Axis = -1
    """The axis; -1 is the last. `argmax` removes it."""


class ConcatOp(OneOutputOp):
    """Tensors joined along an axis."""

    op: Literal["concat"]
    in_: Annotated[list[Name], Field(min_length=2)] = Field(alias="in")
    """The tensors, in order."""
    axis: Axis = 1
    """The axis along which they are joined; 1 is the channels."""


class SplitOp(NpuOp):
    """A tensor split into several along an axis."""

    op: Literal["split"]
    in_: Name | None = Field(None, alias="in")
    """Tensor that it reads; by default the output of the op before."""
    out: Annotated[list[Name], Field(min_length=2)]
    """Names of the pieces, in order."""
    axis: Axis = 1
    """The axis along which it is split; 1 is the channels."""
    sizes: Annotated[list[Count], Field(min_length=2)] | None = None
    """Size of each piece along the axis; by default equal."""


class SliceOp(OneInputOp):
    """A range of a tensor along one axis."""

    op: Literal["slice"]
    axis: Axis
    """The axis of the range."""
    start: int = Field(0, ge=-MAX_COUNT, le=MAX_COUNT)
    """The first index; a negative one counts from the end."""
    stop: int | None = Field(None, ge=-MAX_COUNT, le=MAX_COUNT)
    """The index after the last; by default the end of the axis."""


class TransposeOp(OneInputOp):
    """Axes in another order; every byte is moved. (`reshape` moves none.)"""

    op: Literal["transpose"]
    order: Annotated[list[Natural], Field(min_length=1, max_length=8)]
    """The input axis for each output axis, such as [0, 2, 3, 1]."""


class PadOp(OneInputOp):
    """Elements added around a tensor."""

    op: Literal["pad"]
    before: Annotated[list[Natural], Field(max_length=8)]
    """Elements added at the start of each axis."""
    after: Annotated[list[Natural], Field(max_length=8)]
    """Elements added at the end of each axis."""


class ResizeOp(OneInputOp):
    """An image [N, C, H, W] or signal [N, C, L] made larger or smaller."""

    op: Literal["resize"]
    scale: Count | None = None
    """Factor on height and width; either this or `size`."""
    size: Annotated[list[Count], Field(min_length=1, max_length=2)] | None = None
    """The output's [height, width], or [length]."""
    mode: ResizeMode = "nearest"
    """What an output is: its nearest input, a blend of two or four along each axis."""
    corners: CornerRule = "half-pixel"
    """What lies together: centres of pixels, or first corners; by an `other` rule any input may be read."""


class SpaceDepthOp(OneInputOp):
    """Blocks of pixels moved to channels (`space_to_depth`) or back (`depth_to_space`, pixel shuffle)."""

    op: Literal["space_to_depth", "depth_to_space"]
    block: Count
    """Height and width of a block."""


class ReduceOp(OneInputOp):
    """Sum, mean, maximum or minimum over some axes."""

    op: Literal["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"]
    axes: Annotated[list[Axis], Field(min_length=1, max_length=8)]
    """The axes that are reduced."""
    keep: bool = True
    """Whether the reduced axes stay, with size 1."""


class ViewOp(NamedOp):
    """The same bytes under another shape: no op, no cycles. `flatten` gives [N, features]."""

    op: Literal["reshape", "flatten"]
    in_: Name | None = Field(None, alias="in")
    """Tensor that it views; by default the output of the op before."""
    out: Name | None = None
    """Name of the view; by default the op's name."""
    shape: Annotated[list[Annotated[int, Field(ge=-1, le=MAX_COUNT)]], Field(max_length=8)] | None = None
    """`reshape`: the new shape; one size may be -1, and follows from the others."""


class EmbeddingOp(WeightedOp):
    """Rows looked up in a table of weights. Only these rows are read from Psram."""

    op: Literal["embedding"]
    rows: Count
    """Rows of the table (the vocabulary)."""
    features: Count
    """Elements of a row: the output's last axis."""
    dtype: Dtype | None = None
    """Element type of the output; by default the workload's."""


class CopyOp(OneInputOp):
    """A copy of a tensor."""

    op: Literal["copy"]


class CastOp(OneInputOp):
    """A change of element type: quantise, dequantise, widen, narrow."""

    op: Literal["cast"]
    dtype: Dtype
    """Element type of the output."""


class CustomOp(NpuOp):
    """Any other work, described by bytes and cycles."""

    op: Literal["custom"]
    in_: NamesIn | None = Field(None, alias="in")
    """Tensors that it reads; [] for none; by default the output of the op before."""
    out: Annotated[dict[Name, TensorSpec], Field(min_length=1)]
    """Name and size of each output: bytes (4096, 4KiB), a shape, or {shape, dtype}."""
    weights: Bytes | None = None
    """Bytes of its weights in Psram (12345 or 4KiB)."""
    rows: Count = 1
    """Equal, independent parts that it may be split into where memory is short."""


Layer = ConvOp | DepthwiseConvOp | TransposedConvOp | DenseOp | MatmulOp | PoolOp | GlobalPoolOp | RecurrentOp
Calculation = UnaryOp | BinaryOp | NormalisationOp | PreluOp | AlongAxisOp
Movement = ConcatOp | SplitOp | SliceOp | TransposeOp | PadOp | ResizeOp | SpaceDepthOp
SimpleOp = Layer | Calculation | Movement | ReduceOp | ViewOp | EmbeddingOp | CopyOp | CastOp | CustomOp
