"""Every kind of op as a method, made from the models of the YAML format by
``python -m docs.tools.network_layers``; not edited by hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, Unpack

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

Keys = ParamSpec("Keys")
Names = TypeVar("Names")


def _method(
    kind: str, shared: Callable[Concatenate[Layers, str, Keys], Names]
) -> Callable[Concatenate[Layers, Keys], Names]:
    """Return the method of one kind of op, whose keys and text are those of ``shared``."""

    def append(self: Layers, /, *inputs: Keys.args, **keys: Keys.kwargs) -> Names:
        return shared(self, kind, *inputs, **keys)

    whole = signature(shared)
    visible = [parameter for name, parameter in whole.parameters.items() if name != "kind"]
    vars(append)["__signature__"] = whole.replace(parameters=visible)
    append.__name__, append.__qualname__, append.__doc__ = kind, f"Layers.{kind}", shared.__doc__
    return append


class Layers(ABC):
    """The ops of a network, each appended to the innermost open block; a tensor is known by its name."""

    __slots__ = ()

    @abstractmethod
    def _append(
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any], **more: Any
    ) -> tuple[str, ...]:
        """Append an op with those keys that are not None; the names of its outputs."""

    def _unary(self, kind: str, x: str | None = None, **keys: Unpack[InPlaceKeys]) -> str:
        """One input, element by element."""
        return self._append(kind, x, keys)[0]

    abs = _method("abs", _unary)
    clip = _method("clip", _unary)
    elu = _method("elu", _unary)
    exp = _method("exp", _unary)
    gelu = _method("gelu", _unary)
    hard_sigmoid = _method("hard_sigmoid", _unary)
    hard_swish = _method("hard_swish", _unary)
    leaky_relu = _method("leaky_relu", _unary)
    log = _method("log", _unary)
    neg = _method("neg", _unary)
    relu = _method("relu", _unary)
    relu6 = _method("relu6", _unary)
    round = _method("round", _unary)
    sigmoid = _method("sigmoid", _unary)
    silu = _method("silu", _unary)
    sqrt = _method("sqrt", _unary)
    tanh = _method("tanh", _unary)

    def _binary(
        self, kind: str, *inputs: str, constant: Sequence[int] | None = None, **keys: Unpack[InPlaceKeys]
    ) -> str:
        """Two or more inputs, element by element, broadcast as NumPy does.

        ``constant``: Shape of a second operand that is a weight, such as [1, 64, 1, 1].
        """
        return self._append(kind, inputs, keys, constant=constant)[0]

    add = _method("add", _binary)
    div = _method("div", _binary)
    max = _method("max", _binary)
    min = _method("min", _binary)
    mul = _method("mul", _binary)
    pow = _method("pow", _binary)
    sub = _method("sub", _binary)

    def _along_axis(
        self, kind: str, x: str | None = None, *, axis: int | None = None, **keys: Unpack[OutputKeys]
    ) -> str:
        """``softmax`` along an axis, or the index of the largest element along it (``argmax``, int32).

        ``axis``: The axis; -1 is the last. ``argmax`` removes it.
        """
        return self._append(kind, x, keys, axis=axis)[0]

    argmax = _method("argmax", _along_axis)
    softmax = _method("softmax", _along_axis)

    def _pool(
        self,
        kind: str,
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
        return self._append(kind, x, keys, kernel=kernel, stride=stride, pad=pad, ceil=ceil)[0]

    average_pool = _method("average_pool", _pool)
    max_pool = _method("max_pool", _pool)

    def _normalisation(
        self,
        kind: str,
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
        return self._append(kind, x, keys, axis=axis, groups=groups)[0]

    batch_norm = _method("batch_norm", _normalisation)
    group_norm = _method("group_norm", _normalisation)
    instance_norm = _method("instance_norm", _normalisation)
    layer_norm = _method("layer_norm", _normalisation)
    rms_norm = _method("rms_norm", _normalisation)

    def cast(self, x: str | None = None, *, dtype: Dtype, **keys: Unpack[OutputKeys]) -> str:
        """A change of element type: quantise, dequantise, widen, narrow.

        ``dtype``: Element type of the output.
        """
        return self._append("cast", x, keys, dtype=dtype)[0]

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

    def _space_depth(self, kind: str, x: str | None = None, *, block: int, **keys: Unpack[OutputKeys]) -> str:
        """Blocks of pixels moved to channels (``space_to_depth``) or back (``depth_to_space``, pixel
        shuffle).

        ``block``: Height and width of a block.
        """
        return self._append(kind, x, keys, block=block)[0]

    depth_to_space = _method("depth_to_space", _space_depth)
    space_to_depth = _method("space_to_depth", _space_depth)

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

    def _view(
        self,
        kind: str,
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
        return self._append(kind, x, keys, out=out, shape=shape)[0]

    flatten = _method("flatten", _view)
    reshape = _method("reshape", _view)

    def _global_pool(self, kind: str, x: str | None = None, **keys: Unpack[OutputKeys]) -> str:
        """Pooling of each channel over the whole image."""
        return self._append(kind, x, keys)[0]

    global_average_pool = _method("global_average_pool", _global_pool)
    global_max_pool = _method("global_max_pool", _global_pool)

    def _recurrent(
        self,
        kind: str,
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
        return self._append(kind, x, keys, hidden=hidden, bidirectional=bidirectional)[0]

    gru = _method("gru", _recurrent)
    lstm = _method("lstm", _recurrent)
    rnn = _method("rnn", _recurrent)

    def matmul(self, *inputs: str, transpose_right: bool | None = None, **keys: Unpack[OutputKeys]) -> str:
        """The product of two activations; leading axes are broadcast.

        ``transpose_right``: Whether the last two axes of the right matrix are swapped while it is read, at no
          cost.
        """
        return self._append("matmul", inputs, keys, transpose_right=transpose_right)[0]

    def pad(
        self, x: str | None = None, *, before: Sequence[int], after: Sequence[int], **keys: Unpack[OutputKeys]
    ) -> str:
        """Elements added around a tensor.

        ``before``: Elements added at the start of each axis.
        ``after``: Elements added at the end of each axis.
        """
        return self._append("pad", x, keys, before=before, after=after)[0]

    def prelu(self, x: str | None = None, **keys: Unpack[WeightKeys]) -> str:
        """ReLU with one learned slope per channel (axis 1)."""
        return self._append("prelu", x, keys)[0]

    def _reduce(
        self,
        kind: str,
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
        return self._append(kind, x, keys, axes=axes, keep=keep)[0]

    reduce_max = _method("reduce_max", _reduce)
    reduce_mean = _method("reduce_mean", _reduce)
    reduce_min = _method("reduce_min", _reduce)
    reduce_sum = _method("reduce_sum", _reduce)

    def resize(
        self,
        x: str | None = None,
        *,
        scale: int | None = None,
        size: Sequence[int] | None = None,
        mode: Literal["nearest", "linear", "cubic"] | None = None,
        corners: Literal["half-pixel", "align-corners", "asymmetric"] | None = None,
        **keys: Unpack[OutputKeys],
    ) -> str:
        """An image [N, C, H, W] or signal [N, C, L] made larger or smaller.

        ``scale``: Factor on height and width; either this or ``size``.
        ``size``: The output's [height, width], or [length].
        ``mode``: What an output is: its nearest input, a blend of two or four along each axis.
        ``corners``: What lies together: centres of pixels in both images, or first corners.
        """
        return self._append("resize", x, keys, scale=scale, size=size, mode=mode, corners=corners)[0]

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
