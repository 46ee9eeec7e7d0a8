"""Build a Program op by op: shapes are inferred, weights counted, work described.

The YAML loader, the ONNX importer and the built-in networks all use this one builder, so a convolution means
the same wherever it comes from. Shapes are ONNX's: ``(N, C, H, W)`` for images, ``(N, C, L)`` for sequences
of channels, ``(..., features)`` for matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Literal, TypedDict, Unpack

from chipmodel.errors import Unshaped
from chipmodel.model.attributes import AlongAxis, Attributes
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from workloads.build.shapes import (
    Padding,
    Pair,
    Value,
    WindowSpec,
    as_image,
    as_pair,
    bias_dtype,
    broadcast_shape,
    matmul_work,
    point_rows,
    rows_across,
    tensor_bytes,
    window_over,
)
from workloads.build.tree_builder import TreeBuilder


class LayerOptions(TypedDict, total=False):
    """Options of layers with weights."""

    outputs: Sequence[str] | None
    """The output's name; by default the op's."""
    weights: Sequence[str] | None
    """Constants that are declared already; by default a weight (and bias) of the right size is declared."""
    weight_dtype: str | None
    """Element type of the weights; by default the input's."""
    bias: bool
    """Whether there is one; by default True."""


class ConvOptions(LayerOptions, total=False):
    """Options of convolutions; a 1-D one uses the first number of a pair."""

    stride: Pair
    pad: Padding
    dilation: Pair
    groups: int
    transposed: bool
    output_pad: Pair


class PoolOptions(TypedDict, total=False):
    """Options of pooling."""

    stride: Pair | None
    """The distance of two windows; by default the kernel."""
    pad: Padding
    kind: Literal["max_pool", "average_pool"]
    """What is taken of a window; by default max_pool."""
    ceil: bool
    outputs: Sequence[str] | None


class RecurrentOptions(LayerOptions, total=False):
    """Options of recurrent layers."""

    directions: int


class ElementwiseOptions(TypedDict, total=False):
    """Options of element-wise work."""

    outputs: Sequence[str] | None
    weights: Sequence[str]
    in_place: bool


class VectorOptions(ElementwiseOptions, total=False):
    """Options of vector work: normalising, reducing, data-moving, or element-wise."""

    rows: int | None
    """Equal, independent rows that it can be cut into; by default all axes but the last. Others are taken
    where the bytes of these rows do not lie together."""
    attributes: Attributes | None
    """What it does, where its kind does not say it all."""


class ProgramBuilder(TreeBuilder):
    """The layers of a network, each appended to the innermost open block."""

    whole_swish: bool = False
    """Whether a swish is one op, a table of its own, and not a sigmoid and a multiplication."""

    def conv(self, name: str, x: Value, out_c: int, kernel: Pair, **options: Unpack[ConvOptions]) -> Value:
        """1-D or 2-D convolution. Raises BadInput where groups or window do not fit the input."""
        image = as_image(x, self.place)
        groups = options.get("groups", 1)
        if image[1] % groups or out_c % groups or groups < 1:
            what = f"{name!r}: {groups} groups do not divide {image[1]} input and {out_c} output channels"
            raise Unshaped(what, where=self.place, hint="take a number of groups that divides both")
        spec = _conv_window(kernel, options, one_d=len(x.shape) == 3)
        window = window_over(name, x, spec, self.place)
        work = Conv(window, image[1], out_c, groups, image[0])
        elements = out_c * (image[1] // groups) * spec.kernel[0] * spec.kernel[1]
        weights = self._layer_weights(name, x, elements, out_c, options)
        kind = "depthwise_conv" if work.depthwise else "transposed_conv" if spec.transposed else "conv"
        shape = _window_shape(x, out_c, window.out_h, window.out_w)
        names = options.get("outputs")
        return self.emit(kind, name, work, [x], [shape], weights=weights, outputs=names)[0]

    def pool(self, name: str, x: Value, kernel: Pair | None, **options: Unpack[PoolOptions]) -> Value:
        """Pooling over a window; without ``kernel``, over the whole image."""
        image = as_image(x, self.place)
        one_d = len(x.shape) == 3
        sizes = image[2:] if kernel is None else as_pair(kernel, one_d)
        if one_d:
            sizes = (sizes[0], 1)
        stride = options.get("stride")
        spec = WindowSpec(
            sizes,
            sizes if stride is None else as_pair(stride, one_d),
            options.get("pad", 0),
            ceil=options.get("ceil", False),
        )
        window = window_over(name, x, spec, self.place)
        kind = options.get("kind", "max_pool")
        shape = _window_shape(x, image[1], window.out_h, window.out_w)
        work = Pool(window, image[1], image[0])
        return self.emit(kind, name, work, [x], [shape], outputs=options.get("outputs"))[0]

    def dense(self, name: str, x: Value, features: int, **options: Unpack[LayerOptions]) -> Value:
        """The last axis of ``x`` times a (inner x features) weight matrix."""
        inner = x.shape[-1]
        weights = self._layer_weights(name, x, inner * features, features, options)
        work = Matmul(max(1, x.elements // max(1, inner)), inner, features)
        shape = (*x.shape[:-1], features)
        return self.emit("dense", name, work, [x], [shape], weights=weights, outputs=options.get("outputs"))[
            0
        ]

    def _layer_weights(
        self, name: str, x: Value, elements: int, biases: int, options: LayerOptions
    ) -> Sequence[str]:
        """The constants of a layer: those that are given, or else declared here."""
        given = options.get("weights")
        if given is not None:
            return given
        weights = [self.weight(f"{name}.weight", elements, options.get("weight_dtype") or x.dtype)]
        if options.get("bias", True):
            weights.append(self.weight(f"{name}.bias", biases, bias_dtype(x.dtype)))
        return weights

    def matmul(
        self,
        name: str,
        a: Value,
        b: Value,
        *,
        transpose_right: bool = False,
        outputs: Sequence[str] | None = None,
    ) -> Value:
        """The product of two activations, NumPy's rules of broadcasting for the leading axes."""
        right = (*b.shape[:-2], b.shape[-1], b.shape[-2]) if transpose_right else b.shape
        shape, work = matmul_work(name, a.shape, right, self.place)
        work = replace(work, right_transposed=transpose_right)
        return self.emit("matmul", name, work, [a, b], [shape], outputs=outputs)[0]

    def recurrent(
        self,
        name: str,
        x: Value,
        hidden: int,
        kind: Literal["rnn", "gru", "lstm"],
        **options: Unpack[RecurrentOptions],
    ) -> Value:
        """``x`` is (steps, batch, inputs), as in ONNX; the result (steps, directions, batch, hidden)."""
        steps, batch, inputs = x.shape
        directions = options.get("directions", 1)
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
        matrix = directions * gates * hidden * (inputs + hidden)
        weights = self._layer_weights(name, x, matrix, directions * 2 * gates * hidden, options)
        work = Recurrent(steps, inputs, hidden, gates, directions, batch)
        shape = (steps, directions, batch, hidden)
        return self.emit(kind, name, work, [x], [shape], weights=weights, outputs=options.get("outputs"))[0]

    def vector(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Value],
        shape: Sequence[int] | None = None,
        **options: Unpack[VectorOptions],
    ) -> Value:
        """Element-wise, normalising, reducing or data-moving work (``kind`` says which).

        ``shape`` is the output's, by default that of the first input.
        """
        shapes = [tuple(shape if shape is not None else inputs[0].shape)]
        return self.vectors(kind, name, inputs, shapes, **options)[0]

    def vectors(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Value],
        shapes: Sequence[Sequence[int]],
        **options: Unpack[VectorOptions],
    ) -> tuple[Value, ...]:
        """The same with an output for each of ``shapes`` (a split, say)."""
        rows = options.get("rows")
        work = self._vector_work(inputs, shapes, prod(shapes[0][:-1]) if rows is None else rows)
        work = replace(work, attributes=options.get("attributes"))
        weights, in_place = options.get("weights", ()), options.get("in_place", False)
        outputs = options.get("outputs")
        return self.emit(
            kind, name, work, inputs, shapes, weights=weights, in_place=in_place, outputs=outputs
        )

    def concat(
        self, name: str, parts: Sequence[Value], axis: int = 1, outputs: Sequence[str] | None = None
    ) -> Value:
        """Tensors of equal sizes along the other axes, joined along one, by default that of the channels."""
        first, size = parts[0].shape, sum(part.shape[axis] for part in parts)
        shape, along = (*first[:axis], size, *first[axis + 1 :]), AlongAxis(axis, size)
        rows = rows_across(first, axis)
        return self.vector("concat", name, parts, shape, rows=rows, attributes=along, outputs=outputs)

    def split(
        self, name: str, x: Value, sizes: Sequence[int], axis: int, outputs: Sequence[str] | None = None
    ) -> tuple[Value, ...]:
        """``x`` cut along an axis into parts of these ``sizes``."""
        shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
        rows, along = rows_across(x.shape, axis), AlongAxis(axis, x.shape[axis])
        return self.vectors("split", name, [x], shapes, rows=rows, attributes=along, outputs=outputs)

    def softmax(self, name: str, x: Value, axis: int = -1, outputs: Sequence[str] | None = None) -> Value:
        """Softmax along an axis, by default the last."""
        rows, along = rows_across(x.shape, axis % len(x.shape)), AlongAxis(axis % len(x.shape), x.shape[axis])
        return self.vector("softmax", name, [x], rows=rows, attributes=along, outputs=outputs)

    def elementwise(
        self, kind: str, name: str, inputs: Sequence[Value], **options: Unpack[ElementwiseOptions]
    ) -> Value:
        """Element-wise work on operands that are broadcast against each other by NumPy's rules."""
        shape = broadcast_shape(name, [v.shape for v in inputs], self.place)
        rows = point_rows(shape)
        # No element depends on another, so a single row can be cut anywhere.
        work = self._vector_work(inputs, [shape], rows=rows if rows > 1 else prod(shape))
        broadcast = tuple(i for i, v in enumerate(inputs) if v.elements < prod(shape))
        return self.emit(kind, name, replace(work, broadcast=broadcast), inputs, [shape], **options)[0]

    def _vector_work(self, inputs: Sequence[Value], shapes: Sequence[Sequence[int]], rows: int) -> Vector:
        dtype = inputs[0].dtype if inputs else self.dtype
        return Vector(
            elements=sum(prod(shape) for shape in shapes),
            in_bytes=_distinct_bytes(inputs),
            out_bytes=sum(tensor_bytes(shape, dtype) for shape in shapes),
            rows=max(1, rows),
        )

    def custom(
        self,
        name: str,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        *,
        rows: int = 1,
        weights: Sequence[str] = (),
    ) -> None:
        """Work that is known only by its bytes; ``outputs`` were declared by ``tensor`` or ``raw``."""
        work = Vector(
            elements=sum(v.elements for v in outputs),
            in_bytes=_distinct_bytes(inputs),
            out_bytes=sum(v.bytes for v in outputs),
            rows=rows,
        )
        dtype = (inputs[0] if inputs else outputs[0]).dtype
        names = (tuple(v.name for v in inputs), tuple(v.name for v in outputs))
        views = (*(v.shape for v in inputs), *(v.shape for v in outputs))
        self._append(Op(name, "custom", work, *names, tuple(weights), dtype, place=self.place, views=views))

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """A view: no op, no bytes moved. One ``-1`` is inferred."""
        known = prod(d for d in shape if d != -1)
        sizes = tuple(x.elements // known if d == -1 and known else d for d in shape)
        if list(shape).count(-1) > 1 or prod(sizes) != x.elements:
            what = f"cannot view {list(x.shape)} as {list(shape)}"
            hint = f"both shapes must hold {x.elements} elements; one size may be -1"
            raise Unshaped(what, where=self.place, hint=hint)
        return Value(x.name, sizes, x.dtype)

    def flatten(self, x: Value) -> Value:
        """A view as (N, features)."""
        return self.reshape(x, (x.shape[0], -1))


def _conv_window(kernel: Pair, options: ConvOptions, one_d: bool) -> WindowSpec:
    sizes = as_pair(kernel, one_d)
    output_pad = as_pair(options.get("output_pad", 0), one_d)
    return WindowSpec(
        (sizes[0], 1) if one_d else sizes,
        as_pair(options.get("stride", 1), one_d),
        options.get("pad", 0),
        as_pair(options.get("dilation", 1), one_d),
        (output_pad[0], 0) if one_d else output_pad,
        options.get("transposed", False),
    )


def _window_shape(x: Value, channels: int, height: int, width: int) -> tuple[int, ...]:
    """The output of a window over ``x``, with as many axes."""
    return (x.shape[0], channels, height) if len(x.shape) == 3 else (x.shape[0], channels, height, width)


def _distinct_bytes(inputs: Sequence[Value]) -> int:
    """Bytes of the inputs: an operand that is read twice is fetched once."""
    return sum({v.name: v.bytes for v in inputs}.values())
