"""Every kind of op as a method, made from the models of the YAML format by
``python -m docs.tools.network_layers``; not edited by hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from workloads.from_python.shared_keys import (
    InPlaceKeys,
    LayerKeys,
    NamedKeys,
    NpuKeys,
    OutputKeys,
    WeightKeys,
)

if TYPE_CHECKING:
    from workloads.from_yaml.field_types import Dtype


class Layers(ABC):
    """The ops of a network, each appended to the innermost open block; a tensor is known by its name."""

    __slots__ = ()

    @abstractmethod
    def _append(
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any], **more: Any
    ) -> tuple[str, ...]:
        """Append an op with those keys that are not None; the names of its outputs."""

    def abs(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("abs", x, keys)[0]

    def add(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("add", inputs, keys, constant=constant)[0]

    def argmax(self, x: str | None = None, *, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """``softmax`` along an axis, or the index of the largest element along it (``argmax``, int32).

        ``axis``: The axis; -1 is the last. ``argmax`` removes it.
        """
        return self._append("argmax", x, keys, axis=axis)[0]

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
        ``pad``: As for ``conv``.
        ``ceil``: Whether the output's size is rounded up instead of down.
        """
        return self._append("average_pool", x, keys, kernel=kernel, stride=stride, pad=pad, ceil=ceil)[0]

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
        return self._append("batch_norm", x, keys, axis=axis, groups=groups)[0]

    def cast(self, x: str | None = None, *, dtype: Dtype, **keys: Unpack[OutputKeys]) -> str:
        """A change of element type: quantise, dequantise, widen, narrow.

        ``dtype``: Element type of the output.
        """
        return self._append("cast", x, keys, dtype=dtype)[0]

    def clip(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("clip", x, keys)[0]

    def concat(self, *inputs: str, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Tensors joined along an axis.

        ``axis``: The axis along which they are joined; 1 is the channels.
        """
        return self._append("concat", inputs, keys, axis=axis)[0]

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
        return self._append(
            "conv",
            x,
            keys,
            kernel=kernel,
            channels=channels,
            stride=stride,
            dilation=dilation,
            pad=pad,
            groups=groups,
        )[0]

    def copy(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """A copy of a tensor."""
        return self._append("copy", x, keys)[0]

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
        return self._append("custom", inputs, keys, out=out, weights=weights, rows=rows)

    def dense(self, x: str | None = None, *, features: int, **keys: Unpack[LayerKeys]) -> str:
        """Fully connected: the last axis of the input times a matrix of weights.

        ``features``: Output features.
        """
        return self._append("dense", x, keys, features=features)[0]

    def depth_to_space(self, x: str | None = None, *, block: int, **keys: Unpack[OutputKeys]) -> str:
        """Blocks of pixels moved to channels (``space_to_depth``) or back (``depth_to_space``, pixel
        shuffle).

        ``block``: Height and width of a block.
        """
        return self._append("depth_to_space", x, keys, block=block)[0]

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
        return self._append(
            "depthwise_conv",
            x,
            keys,
            kernel=kernel,
            stride=stride,
            dilation=dilation,
            pad=pad,
            multiplier=multiplier,
        )[0]

    def div(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("div", inputs, keys, constant=constant)[0]

    def elu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("elu", x, keys)[0]

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
        return self._append("embedding", x, keys, rows=rows, features=features, dtype=dtype)[0]

    def exp(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("exp", x, keys)[0]

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
        return self._append("flatten", x, keys, out=out, shape=shape)[0]

    def gelu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("gelu", x, keys)[0]

    def global_average_pool(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Pooling of each channel over the whole image."""
        return self._append("global_average_pool", x, keys)[0]

    def global_max_pool(self, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Pooling of each channel over the whole image."""
        return self._append("global_max_pool", x, keys)[0]

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
        return self._append("group_norm", x, keys, axis=axis, groups=groups)[0]

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
        return self._append("gru", x, keys, hidden=hidden, bidirectional=bidirectional)[0]

    def hard_sigmoid(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("hard_sigmoid", x, keys)[0]

    def hard_swish(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("hard_swish", x, keys)[0]

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
        return self._append("instance_norm", x, keys, axis=axis, groups=groups)[0]

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
        return self._append("layer_norm", x, keys, axis=axis, groups=groups)[0]

    def leaky_relu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("leaky_relu", x, keys)[0]

    def log(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("log", x, keys)[0]

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
        return self._append("lstm", x, keys, hidden=hidden, bidirectional=bidirectional)[0]

    def matmul(self, *inputs: str, transpose_right: bool | None = None, **keys: Unpack[OutputKeys]) -> str:
        """The product of two activations; leading axes are broadcast.

        ``transpose_right``: Whether the last two axes of the right matrix are swapped while it is read, at no
          cost.
        """
        return self._append("matmul", inputs, keys, transpose_right=transpose_right)[0]

    def max(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("max", inputs, keys, constant=constant)[0]

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
        ``pad``: As for ``conv``.
        ``ceil``: Whether the output's size is rounded up instead of down.
        """
        return self._append("max_pool", x, keys, kernel=kernel, stride=stride, pad=pad, ceil=ceil)[0]

    def min(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("min", inputs, keys, constant=constant)[0]

    def mul(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("mul", inputs, keys, constant=constant)[0]

    def neg(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("neg", x, keys)[0]

    def pad(
        self, x: str | None = None, *, before: Sequence[int], after: Sequence[int], **keys: Unpack[OutputKeys]
    ) -> str:
        """Elements added around a tensor.

        ``before``: Elements added at the start of each axis.
        ``after``: Elements added at the end of each axis.
        """
        return self._append("pad", x, keys, before=before, after=after)[0]

    def pow(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("pow", inputs, keys, constant=constant)[0]

    def prelu(self, x: str | None = None, **keys: Unpack[WeightKeys]) -> str:
        """ReLU with one learned slope per channel (axis 1)."""
        return self._append("prelu", x, keys)[0]

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
        return self._append("reduce_max", x, keys, axes=axes, keep=keep)[0]

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
        return self._append("reduce_mean", x, keys, axes=axes, keep=keep)[0]

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
        return self._append("reduce_min", x, keys, axes=axes, keep=keep)[0]

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
        return self._append("reduce_sum", x, keys, axes=axes, keep=keep)[0]

    def relu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("relu", x, keys)[0]

    def relu6(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("relu6", x, keys)[0]

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
        return self._append("reshape", x, keys, out=out, shape=shape)[0]

    def resize(
        self,
        x: str | None = None,
        *,
        scale: int | None = None,
        size: Sequence[int] | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """An image [N, C, H, W] or signal [N, C, L] made larger or smaller.

        ``scale``: Factor on height and width; either this or ``size``.
        ``size``: The output's [height, width], or [length].
        """
        return self._append("resize", x, keys, scale=scale, size=size)[0]

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
        return self._append("rms_norm", x, keys, axis=axis, groups=groups)[0]

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
        return self._append("rnn", x, keys, hidden=hidden, bidirectional=bidirectional)[0]

    def round(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("round", x, keys)[0]

    def sigmoid(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("sigmoid", x, keys)[0]

    def silu(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("silu", x, keys)[0]

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
        return self._append("slice", x, keys, axis=axis, start=start, stop=stop)[0]

    def softmax(self, x: str | None = None, *, axis: int | None = None, **keys: Unpack[OutputKeys]) -> str:
        """``softmax`` along an axis, or the index of the largest element along it (``argmax``, int32).

        ``axis``: The axis; -1 is the last. ``argmax`` removes it.
        """
        return self._append("softmax", x, keys, axis=axis)[0]

    def space_to_depth(self, x: str | None = None, *, block: int, **keys: Unpack[OutputKeys]) -> str:
        """Blocks of pixels moved to channels (``space_to_depth``) or back (``depth_to_space``, pixel
        shuffle).

        ``block``: Height and width of a block.
        """
        return self._append("space_to_depth", x, keys, block=block)[0]

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
        return self._append("split", x, keys, out=out, axis=axis, sizes=sizes)

    def sqrt(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("sqrt", x, keys)[0]

    def sub(self, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append("sub", inputs, keys, constant=constant)[0]

    def tanh(self, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append("tanh", x, keys)[0]

    def transpose(self, x: str | None = None, *, order: Sequence[int], **keys: Unpack[OutputKeys]) -> str:
        """Axes in another order; every byte is moved. (``reshape`` moves none.)

        ``order``: The input axis for each output axis, such as [0, 2, 3, 1].
        """
        return self._append("transpose", x, keys, order=order)[0]

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
        return self._append(
            "transposed_conv",
            x,
            keys,
            kernel=kernel,
            channels=channels,
            stride=stride,
            dilation=dilation,
            pad=pad,
            groups=groups,
            output_pad=output_pad,
        )[0]
