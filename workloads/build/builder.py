"""Builds a Program op by op: shapes inferred, weights counted, work described.

The YAML loader, the ONNX importer and the built-in networks all go through this one builder, so a
convolution means the same wherever it comes from. Shapes are ONNX's: ``(N, C, H, W)`` for images,
``(N, C, L)`` for sequences of channels, ``(..., features)`` for matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

from chipmodel.errors import BadInput
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, Vector
from workloads.build.shapes import (
    Padding,
    Value,
    as_image,
    as_pair,
    bias_dtype,
    broadcast_shape,
    matmul_work,
    pads_of,
    tensor_bytes,
    window_of,
)
from workloads.build.tree_builder import TreeBuilder


class ProgramBuilder(TreeBuilder):
    """The layers of a network, each appended to the innermost open block."""

    def conv(
        self,
        name: str,
        x: Value,
        out_c: int,
        kernel: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        pad: Padding = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        transposed: bool = False,
        output_pad: int | tuple[int, int] = 0,
        outputs: Sequence[str] | None = None,
        weights: Sequence[str] | None = None,
        weight_dtype: str | None = None,
    ) -> Value:
        """1-D or 2-D convolution. A 1-D one takes the first of each pair. ``weights`` names
        constants declared already; otherwise a weight (and bias) of the right size is declared."""
        image = as_image(x, self.place)
        if image[1] % groups or out_c % groups or groups < 1:
            raise BadInput(
                f"{name!r}: {groups} groups do not divide {image[1]} input and {out_c} output channels",
                where=self.place,
                hint="take a number of groups that divides both",
            )
        one_d = len(x.shape) == 3
        kernel, stride, dilation, output_pad = (
            as_pair(v, one_d) for v in (kernel, stride, dilation, output_pad)
        )
        if one_d:
            kernel, output_pad = (kernel[0], 1), (output_pad[0], 0)
        pads = pads_of(pad, image, kernel, stride, dilation, one_d, transposed)
        window = window_of(
            name, image, kernel, stride, dilation, pads, transposed, output_pad, False, self.place
        )
        work = Conv(window, image[1], out_c, groups, image[0])
        if weights is None:
            weights = [
                self.weight(
                    f"{name}.weight",
                    out_c * (image[1] // groups) * kernel[0] * kernel[1],
                    weight_dtype or x.dtype,
                )
            ]
            if bias:
                weights.append(self.weight(f"{name}.bias", out_c, bias_dtype(x.dtype)))
        shape = (image[0], out_c, window.out_h) if one_d else (image[0], out_c, window.out_h, window.out_w)
        kind = "depthwise_conv" if work.depthwise else "transposed_conv" if transposed else "conv"
        return self.emit(kind, name, work, [x], [shape], weights=weights, outputs=outputs)[0]

    def pool(
        self,
        name: str,
        x: Value,
        kernel: int | tuple[int, int] | None,
        *,
        stride: int | tuple[int, int] | None = None,
        pad: Padding = 0,
        kind: Literal["max_pool", "average_pool"] = "max_pool",
        ceil: bool = False,
        dilation: int | tuple[int, int] = 1,
        outputs: Sequence[str] | None = None,
    ) -> Value:
        """Pooling; no ``kernel`` pools the whole image; no ``stride`` steps by the kernel."""
        image = as_image(x, self.place)
        one_d = len(x.shape) == 3
        kernel = (image[2], image[3]) if kernel is None else as_pair(kernel, one_d)
        if one_d:
            kernel = (kernel[0], 1)
        stride = kernel if stride is None else as_pair(stride, one_d)
        dilation = as_pair(dilation, one_d)
        pads = pads_of(pad, image, kernel, stride, dilation, one_d, False)
        window = window_of(name, image, kernel, stride, dilation, pads, False, (0, 0), ceil, self.place)
        shape = (
            (image[0], image[1], window.out_h) if one_d else (image[0], image[1], window.out_h, window.out_w)
        )
        return self.emit(kind, name, Pool(window, image[1], image[0]), [x], [shape], outputs=outputs)[0]

    def dense(
        self,
        name: str,
        x: Value,
        features: int,
        *,
        bias: bool = True,
        outputs: Sequence[str] | None = None,
        weights: Sequence[str] | None = None,
        weight_dtype: str | None = None,
    ) -> Value:
        """The last axis of ``x`` times a (inner x features) weight matrix."""
        inner = x.shape[-1]
        if weights is None:
            weights = [self.weight(f"{name}.weight", inner * features, weight_dtype or x.dtype)]
            if bias:
                weights.append(self.weight(f"{name}.bias", features, bias_dtype(x.dtype)))
        work = Matmul(max(1, x.elements // max(1, inner)), inner, features)
        shape = (*x.shape[:-1], features)
        return self.emit("dense", name, work, [x], [shape], weights=weights, outputs=outputs)[0]

    def matmul(self, name: str, a: Value, b: Value, *, outputs: Sequence[str] | None = None) -> Value:
        """The product of two activations, NumPy's rules of broadcasting for the leading axes."""
        shape, work = matmul_work(name, a.shape, b.shape, self.place)
        return self.emit("matmul", name, work, [a, b], [shape], outputs=outputs)[0]

    def recurrent(
        self,
        name: str,
        x: Value,
        hidden: int,
        kind: Literal["rnn", "gru", "lstm"],
        *,
        directions: int = 1,
        outputs: Sequence[str] | None = None,
        weights: Sequence[str] | None = None,
        weight_dtype: str | None = None,
    ) -> Value:
        """``x`` is (steps, batch, inputs), as in ONNX; the result (steps, directions, batch, hidden)."""
        steps, batch, inputs = x.shape
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
        if weights is None:
            matrix = directions * gates * hidden * (inputs + hidden)
            weights = [
                self.weight(f"{name}.weight", matrix, weight_dtype or x.dtype),
                self.weight(f"{name}.bias", directions * 2 * gates * hidden, bias_dtype(x.dtype)),
            ]
        work = Recurrent(steps, inputs, hidden, gates, directions, batch)
        shape = (steps, directions, batch, hidden)
        return self.emit(kind, name, work, [x], [shape], weights=weights, outputs=outputs)[0]

    def vector(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Value],
        shape: Sequence[int] | None = None,
        *,
        rows: int | None = None,
        weights: Sequence[str] = (),
        in_place: bool = False,
        outputs: Sequence[str] | None = None,
    ) -> Value:
        """Element-wise, normalising, reducing or data-moving work (``kind`` says which).

        ``shape`` is that of the first input where it is not given; ``rows`` is how many equal,
        independent rows the work can be cut into: by default all axes but the last.
        """
        shapes = [tuple(shape if shape is not None else inputs[0].shape)]
        return self.vectors(
            kind, name, inputs, shapes, rows=rows, weights=weights, in_place=in_place, outputs=outputs
        )[0]

    def elementwise(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Value],
        *,
        weights: Sequence[str] = (),
        in_place: bool = False,
        outputs: Sequence[str] | None = None,
    ) -> Value:
        """Element-wise work on operands that are broadcast against each other by NumPy's rules."""
        shape = broadcast_shape(name, [v.shape for v in inputs], self.place)
        return self.vectors(
            kind,
            name,
            inputs,
            [shape],
            rows=prod(shape),  # any element by itself: it can be cut anywhere
            weights=weights,
            in_place=in_place,
            broadcast=[i for i, v in enumerate(inputs) if v.elements < prod(shape)],
            outputs=outputs,
        )[0]

    def vectors(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Value],
        shapes: Sequence[Sequence[int]],
        *,
        rows: int | None = None,
        weights: Sequence[str] = (),
        in_place: bool = False,
        broadcast: Sequence[int] = (),
        outputs: Sequence[str] | None = None,
    ) -> tuple[Value, ...]:
        """The same with any number of outputs (a split, say)."""
        dtype = inputs[0].dtype if inputs else self.dtype
        elements = sum(prod(s) for s in shapes)
        out_bytes = sum(tensor_bytes(s, dtype) for s in shapes)
        distinct = {v.name: v for v in inputs}  # an operand read twice is fetched once
        work = Vector(
            elements=elements,
            in_bytes=sum(v.bytes for v in distinct.values()),
            out_bytes=out_bytes,
            rows=max(1, rows if rows is not None else prod(shapes[0][:-1])),
            broadcast=tuple(broadcast),
        )
        return self.emit(
            kind, name, work, inputs, shapes, weights=weights, in_place=in_place, outputs=outputs
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
            in_bytes=sum({v.name: v.bytes for v in inputs}.values()),
            out_bytes=sum(v.bytes for v in outputs),
            rows=rows,
        )
        dtype = (inputs[0] if inputs else outputs[0]).dtype
        names = (tuple(v.name for v in inputs), tuple(v.name for v in outputs))
        self._append(Op(name, "custom", work, *names, tuple(weights), dtype, place=self.place))

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """A view: no op, no bytes moved. One ``-1`` is inferred."""
        known = prod(d for d in shape if d != -1)
        sizes = tuple(x.elements // known if d == -1 and known else d for d in shape)
        if list(shape).count(-1) > 1 or prod(sizes) != x.elements:
            raise BadInput(
                f"cannot view {list(x.shape)} as {list(shape)}",
                where=self.place,
                hint=f"both shapes must hold {x.elements} elements; one size may be -1",
            )
        return Value(x.name, sizes, x.dtype)

    def flatten(self, x: Value) -> Value:
        """A view as (N, features)."""
        return self.reshape(x, (x.shape[0], -1))
