# Every kind of op as a method, made from the models of the YAML format by
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
    ) -> tuple[str, ...]: ...
    def abs(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def add(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def argmax(self, x: str | None = None, *, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """``softmax`` along an axis, or the index of the largest element along it (``argmax``, int32).

        ``axis``: The axis; -1 is the last. ``argmax`` removes it.
        """

    def average_pool(
        self,
        x: str | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        pad: int | Literal["same", "valid"] | Sequence[int] | None = None,
        ceil: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Max or average pooling over a window. The input is [N, C, H, W] or [N, C, L].

        ``kernel``: One number, or [height, width].
        ``stride``: One number, or [vertical, horizontal]; by default the kernel.
        ``pad``: Rows and columns of zeros, as for ``conv``.
        ``ceil``: Whether the output's size is rounded up instead of down.
        """

    def batch_norm(
        self,
        x: str | None = None,
        *,
        axis: int | None = None,
        groups: int | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """``batch_norm``, ``instance_norm`` and ``group_norm`` scale and shift the channels (axis 1);
        ``layer_norm`` scales and shifts the axes from ``axis`` on, ``rms_norm`` only scales them.

        ``axis``: ``layer_norm``, ``rms_norm``: the first axis that is normalised over.
        ``groups``: ``group_norm``: groups of channels.
        """

    def cast(self, x: str | None = None, *, dtype: Dtype, **keys: Unpack[OutputKeys]) -> str:
        """A change of element type: quantise, dequantise, widen, narrow.

        ``dtype``: Element type of the output.
        """

    def clip(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def concat(self, *inputs: str, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Tensors joined along an axis.

        ``axis``: The axis along which they are joined; 1 is the channels.
        """

    def conv(
        self,
        x: str | None = None,
        *,
        kernel: int | Sequence[int],
        channels: int,
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] | None = None,
        pad: int | Literal["same", "valid"] | Sequence[int] | None = None,
        groups: int | None = None,
        **keys: Unpack[LayerKeys],
    ) -> str:
        """1-D or 2-D convolution, grouped or not.

        ``kernel``: One number, or [height, width].
        ``channels``: Output channels.
        ``stride``: One number, or [vertical, horizontal].
        ``dilation``: Distance between the kernel's taps.
        ``pad``: One number for all sides, [vertical, horizontal], [top, left, bottom, right], ``same``
          (output = input / stride, rounded up) or ``valid`` (none). In 1-D: [before, after].
        ``groups``: Groups of channels that are convolved separately; divides both channel counts.
        """

    def copy(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """A copy of a tensor."""

    def custom(
        self,
        inputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, Any],
        weights: int | str | None = None,
        rows: int | None = None,
        **keys: Unpack[NpuKeys],
    ) -> tuple[str, ...]:
        """Any other work, described by bytes and cycles.

        ``out``: Name and size of each output: bytes (4096, 4KiB), a shape, or {shape, dtype}.
        ``weights``: Bytes of its weights in Psram (12345 or 4KiB).
        ``rows``: Equal, independent parts that it may be split into where memory is short.
        """

    def dense(self, x: str | None = None, *, features: int, **keys: Unpack[LayerKeys]) -> str:
        """Fully connected: the last axis of the input times a matrix of weights.

        ``features``: Output features.
        """

    def depth_to_space(self, x: str | None = None, *, block: int, **keys: Unpack[OutputKeys]) -> str:
        """Blocks of pixels moved to channels (``space_to_depth``) or back (``depth_to_space``, pixel
        shuffle).

        ``block``: Height and width of a block.
        """

    def depthwise_conv(
        self,
        x: str | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] | None = None,
        pad: int | Literal["same", "valid"] | Sequence[int] | None = None,
        multiplier: int | None = None,
        **keys: Unpack[LayerKeys],
    ) -> str:
        """Every input channel convolved with kernels of its own.

        ``kernel``: One number, or [height, width].
        ``stride``: One number, or [vertical, horizontal].
        ``dilation``: Distance between the kernel's taps.
        ``pad``: One number for all sides, [vertical, horizontal], [top, left, bottom, right], ``same``
          (output = input / stride, rounded up) or ``valid`` (none). In 1-D: [before, after].
        ``multiplier``: Output channels per input channel.
        """

    def div(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def elu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def embedding(
        self,
        x: str | None = None,
        *,
        rows: int,
        features: int,
        dtype: Dtype | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """Rows looked up in a table of weights. Only these rows are read from Psram.

        ``rows``: Rows of the table (the vocabulary).
        ``features``: Elements of a row: the output's last axis.
        ``dtype``: Element type of the output; by default the workload's.
        """

    def exp(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def flatten(
        self,
        x: str | None = None,
        *,
        out: str | None = None,
        shape: Sequence[int] | None = None,
        **keys: Unpack[NamedKeys],
    ) -> str:
        """The same bytes under another shape: no op, no cycles. ``flatten`` gives [N, features].

        ``out``: Name of the view; by default the op's name.
        ``shape``: ``reshape``: the new shape; one size may be -1, and follows from the others.
        """

    def gelu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def global_average_pool(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Pooling of each channel over the whole image."""

    def global_max_pool(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Pooling of each channel over the whole image."""

    def group_norm(
        self,
        x: str | None = None,
        *,
        axis: int | None = None,
        groups: int | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """``batch_norm``, ``instance_norm`` and ``group_norm`` scale and shift the channels (axis 1);
        ``layer_norm`` scales and shifts the axes from ``axis`` on, ``rms_norm`` only scales them.

        ``axis``: ``layer_norm``, ``rms_norm``: the first axis that is normalised over.
        ``groups``: ``group_norm``: groups of channels.
        """

    def gru(
        self,
        x: str | None = None,
        *,
        hidden: int,
        bidirectional: bool | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """A recurrent layer over [steps, batch, features]; its output is [steps, batch, hidden], with
        ``bidirectional`` [steps, batch, 2 * hidden].

        ``hidden``: Hidden units of one direction.
        ``bidirectional``: Whether a second direction runs from the end to the start.
        """

    def hard_sigmoid(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def hard_swish(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def instance_norm(
        self,
        x: str | None = None,
        *,
        axis: int | None = None,
        groups: int | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """``batch_norm``, ``instance_norm`` and ``group_norm`` scale and shift the channels (axis 1);
        ``layer_norm`` scales and shifts the axes from ``axis`` on, ``rms_norm`` only scales them.

        ``axis``: ``layer_norm``, ``rms_norm``: the first axis that is normalised over.
        ``groups``: ``group_norm``: groups of channels.
        """

    def layer_norm(
        self,
        x: str | None = None,
        *,
        axis: int | None = None,
        groups: int | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """``batch_norm``, ``instance_norm`` and ``group_norm`` scale and shift the channels (axis 1);
        ``layer_norm`` scales and shifts the axes from ``axis`` on, ``rms_norm`` only scales them.

        ``axis``: ``layer_norm``, ``rms_norm``: the first axis that is normalised over.
        ``groups``: ``group_norm``: groups of channels.
        """

    def leaky_relu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def log(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def lstm(
        self,
        x: str | None = None,
        *,
        hidden: int,
        bidirectional: bool | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """A recurrent layer over [steps, batch, features]; its output is [steps, batch, hidden], with
        ``bidirectional`` [steps, batch, 2 * hidden].

        ``hidden``: Hidden units of one direction.
        ``bidirectional``: Whether a second direction runs from the end to the start.
        """

    def matmul(self, *inputs: str, transpose_right: bool | None = None, **keys: Unpack[OutputKeys]) -> str:
        """The product of two activations; leading axes are broadcast.

        ``transpose_right``: Whether the last two axes of the right matrix are swapped while it is read, at no
          cost.
        """

    def max(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def max_pool(
        self,
        x: str | None = None,
        *,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        pad: int | Literal["same", "valid"] | Sequence[int] | None = None,
        ceil: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Max or average pooling over a window. The input is [N, C, H, W] or [N, C, L].

        ``kernel``: One number, or [height, width].
        ``stride``: One number, or [vertical, horizontal]; by default the kernel.
        ``pad``: Rows and columns of zeros, as for ``conv``.
        ``ceil``: Whether the output's size is rounded up instead of down.
        """

    def min(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def mul(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def neg(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def pad(
        self, x: str | None = None, *, before: Sequence[int], after: Sequence[int], **keys: Unpack[OutputKeys]
    ) -> str:
        """Elements added around a tensor.

        ``before``: Elements added at the start of each axis.
        ``after``: Elements added at the end of each axis.
        """

    def pow(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def prelu(self, x: str | None = None, **keys: Unpack[WeightKeys]) -> str:
        """ReLU with one learned slope per channel (axis 1)."""

    def reduce_max(
        self,
        x: str | None = None,
        *,
        axes: Sequence[int],
        keep: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Sum, mean, maximum or minimum over some axes.

        ``axes``: The axes that are reduced.
        ``keep``: Whether the reduced axes stay, with size 1.
        """

    def reduce_mean(
        self,
        x: str | None = None,
        *,
        axes: Sequence[int],
        keep: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Sum, mean, maximum or minimum over some axes.

        ``axes``: The axes that are reduced.
        ``keep``: Whether the reduced axes stay, with size 1.
        """

    def reduce_min(
        self,
        x: str | None = None,
        *,
        axes: Sequence[int],
        keep: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Sum, mean, maximum or minimum over some axes.

        ``axes``: The axes that are reduced.
        ``keep``: Whether the reduced axes stay, with size 1.
        """

    def reduce_sum(
        self,
        x: str | None = None,
        *,
        axes: Sequence[int],
        keep: bool | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """Sum, mean, maximum or minimum over some axes.

        ``axes``: The axes that are reduced.
        ``keep``: Whether the reduced axes stay, with size 1.
        """

    def relu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def relu6(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def reshape(
        self,
        x: str | None = None,
        *,
        out: str | None = None,
        shape: Sequence[int] | None = None,
        **keys: Unpack[NamedKeys],
    ) -> str:
        """The same bytes under another shape: no op, no cycles. ``flatten`` gives [N, features].

        ``out``: Name of the view; by default the op's name.
        ``shape``: ``reshape``: the new shape; one size may be -1, and follows from the others.
        """

    def resize(
        self,
        x: str | None = None,
        *,
        scale: int | None = None,
        size: Sequence[int] | None = None,
        mode: Literal["nearest", "linear", "cubic"] | None = None,
        corners: Literal["half-pixel", "align-corners", "asymmetric", "other"] | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """An image [N, C, H, W] or signal [N, C, L] made larger or smaller.

        ``scale``: Factor on height and width; either this or ``size``.
        ``size``: The output's [height, width], or [length].
        ``mode``: What an output is: its nearest input, a blend of two or four along each axis.
        ``corners``: What lies together: centres of pixels, or first corners; by an ``other`` rule any input
          may be read.
        """

    def rms_norm(
        self,
        x: str | None = None,
        *,
        axis: int | None = None,
        groups: int | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """``batch_norm``, ``instance_norm`` and ``group_norm`` scale and shift the channels (axis 1);
        ``layer_norm`` scales and shifts the axes from ``axis`` on, ``rms_norm`` only scales them.

        ``axis``: ``layer_norm``, ``rms_norm``: the first axis that is normalised over.
        ``groups``: ``group_norm``: groups of channels.
        """

    def rnn(
        self,
        x: str | None = None,
        *,
        hidden: int,
        bidirectional: bool | None = None,
        **keys: Unpack[WeightKeys],
    ) -> str:
        """A recurrent layer over [steps, batch, features]; its output is [steps, batch, hidden], with
        ``bidirectional`` [steps, batch, 2 * hidden].

        ``hidden``: Hidden units of one direction.
        ``bidirectional``: Whether a second direction runs from the end to the start.
        """

    def round(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def sigmoid(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def silu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def slice(
        self,
        x: str | None = None,
        *,
        axis: int,
        start: int | None = None,
        stop: int | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """A range of a tensor along one axis.

        ``axis``: The axis of the range.
        ``start``: The first index; a negative one counts from the end.
        ``stop``: The index after the last; by default the end of the axis.
        """

    def softmax(self, x: str | None = None, *, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """``softmax`` along an axis, or the index of the largest element along it (``argmax``, int32).

        ``axis``: The axis; -1 is the last. ``argmax`` removes it.
        """

    def space_to_depth(self, x: str | None = None, *, block: int, **keys: Unpack[OutputKeys]) -> str:
        """Blocks of pixels moved to channels (``space_to_depth``) or back (``depth_to_space``, pixel
        shuffle).

        ``block``: Height and width of a block.
        """

    def split(
        self,
        x: str | None = None,
        *,
        out: Sequence[str],
        axis: int | None = None,
        sizes: Sequence[int] | None = None,
        **keys: Unpack[NpuKeys],
    ) -> tuple[str, ...]:
        """A tensor split into several along an axis.

        ``out``: Names of the pieces, in order.
        ``axis``: The axis along which it is split; 1 is the channels.
        ``sizes``: Size of each piece along the axis; by default equal.
        """

    def sqrt(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def sub(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """

    def tanh(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""

    def transpose(self, x: str | None = None, *, order: Sequence[int], **keys: Unpack[OutputKeys]) -> str:
        """Axes in another order; every byte is moved. (``reshape`` moves none.)

        ``order``: The input axis for each output axis, such as [0, 2, 3, 1].
        """

    def transposed_conv(
        self,
        x: str | None = None,
        *,
        kernel: int | Sequence[int],
        channels: int,
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] | None = None,
        pad: int | Literal["same", "valid"] | Sequence[int] | None = None,
        groups: int | None = None,
        output_pad: int | Sequence[int] | None = None,
        **keys: Unpack[LayerKeys],
    ) -> str:
        """Transposed convolution (deconvolution).

        ``kernel``: One number, or [height, width].
        ``channels``: Output channels.
        ``stride``: One number, or [vertical, horizontal].
        ``dilation``: Distance between the kernel's taps.
        ``pad``: One number for all sides, [vertical, horizontal], [top, left, bottom, right], ``same``
          (output = input / stride, rounded up) or ``valid`` (none). In 1-D: [before, after].
        ``groups``: Groups of channels that are convolved separately; divides both channel counts.
        ``output_pad``: Rows and columns added to the output's end.
        """
