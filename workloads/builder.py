"""Builds a Program op by op: shapes inferred, weights counted, work described.

The YAML loader, the ONNX importer and the built-in networks all go through this one builder, so a
convolution means the same wherever it comes from. Shapes are ONNX's: ``(N, C, H, W)`` for images,
``(N, C, L)`` for sequences of channels, ``(..., features)`` for matrices.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from chipmodel.errors import BadInput, Place
from chipmodel.program import DTYPE_BITS, Arm, If, Loop, Node, Op, Program, Tensor, Weight
from chipmodel.work import Conv, Matmul, Pool, Recurrent, Vector, Window, Work

Pads = tuple[int, int, int, int]
"""top, left, bottom, right."""
Padding = int | Literal["same", "valid"] | Pads


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor seen through a shape: views share ``name`` and differ in ``shape``."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return tensor_bytes(self.shape, self.dtype)


def tensor_bytes(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a dense tensor, rounded up to whole bytes for 4-bit types."""
    return -(-prod(shape) * DTYPE_BITS[dtype] // 8)


def bias_dtype(dtype: str) -> str:
    """Integer networks accumulate, and so add their bias, in int32; float ones in their own type."""
    return "int32" if dtype.startswith(("int", "uint")) else dtype


class ProgramBuilder:
    """Ops are appended in execution order to the innermost open block."""

    def __init__(self, name: str, dtype: str = "int8", source: str = "") -> None:
        if dtype not in DTYPE_BITS:
            raise BadInput(f"unknown dtype {dtype!r}", mend=f"one of {', '.join(DTYPE_BITS)}")
        self.name = name
        self.dtype = dtype
        self.source = source
        self.place: Place | None = None
        """Attached to the ops emitted from now on; loaders move it along."""
        self.notes: list[str] = []
        self._tensors: dict[str, Tensor] = {}
        self._weights: dict[str, Weight] = {}
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._blocks: list[list[Node]] = [[]]
        self._names: set[str] = set()

    # -- tensors and weights -------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[int], dtype: str | None = None) -> Value:
        """Declare an input of the program, which lies in Psram before the run."""
        value = self.tensor(name, shape, dtype)
        self._inputs.append(name)
        return value

    def output(self, value: Value) -> None:
        """Declare an output of the program, to be stored to Psram."""
        if value.name not in self._outputs:
            self._outputs.append(value.name)

    def tensor(self, name: str, shape: Sequence[int], dtype: str | None = None) -> Value:
        """A tensor by this name; one that exists already must have the same size (a second
        definition: another arm's, or a loop's carried value)."""
        value = Value(name, tuple(shape), dtype or self.dtype)
        known = self._tensors.get(name)
        if known is None:
            self._tensors[name] = Tensor(name, value.bytes, value.shape, value.dtype)
        elif known.bytes != value.bytes:
            raise BadInput(
                f"tensor {name!r} is defined twice, with {known.bytes} and with {value.bytes} bytes",
                where=self.place,
                mend="give the two tensors different names, or the same shape and dtype",
            )
        return value

    def weight(self, name: str, elements: int, dtype: str | None = None) -> str:
        """Declare a constant of ``elements`` parameters in Psram; returns ``name``."""
        size = tensor_bytes((elements,), dtype or self.dtype)
        self._weights[name] = Weight(name, size, elements)
        return name

    def raw(self, name: str, size: int) -> Value:
        """A tensor of which only its ``size`` in bytes is known; it counts as a flat vector."""
        bits = DTYPE_BITS[self.dtype]
        dtype = self.dtype if size * 8 % bits == 0 else "uint8"
        value = self.tensor(name, (size * 8 // DTYPE_BITS[dtype],), dtype)
        self._tensors[name] = Tensor(name, size, (), dtype)
        return value

    def raw_input(self, name: str, size: int) -> Value:
        """Declare an input of the program by its size in bytes."""
        self._inputs.append(name)
        return self.raw(name, size)

    def raw_weight(self, name: str, size: int, elements: int | None = None) -> str:
        """Declare a constant of ``size`` bytes in Psram; an element each byte unless said otherwise."""
        self._weights[name] = Weight(name, size, size if elements is None else elements)
        return name

    # -- blocks --------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Generator[list[Node]]:
        """Ops emitted inside go to the list that is yielded: an arm's or a loop's body."""
        body: list[Node] = []
        self._blocks.append(body)
        try:
            yield body
        finally:
            self._blocks.pop()

    def add_if(
        self, name: str, arms: Sequence[tuple[str, Sequence[Node]]], condition: Value | None = None
    ) -> None:
        """Append an ``if`` whose arms were collected with ``block``."""
        built = tuple(Arm(arm, tuple(body)) for arm, body in arms)
        self._append(If(name, built, condition.name if condition else None, self.place))

    def add_loop(self, name: str, trips: int, body: Sequence[Node], carried: Sequence[str] = ()) -> None:
        """Append a loop whose body was collected with ``block``."""
        self._append(Loop(name, trips, tuple(body), tuple(carried), self.place))

    def override(self, *, cycles: int | None = None, weight_bytes: int | None = None) -> None:
        """Give the op that was appended last the user's own cycles, or bytes of all of its weights."""
        op = self._blocks[-1][-1]
        if not isinstance(op, Op):
            raise TypeError("only an op has cycles and weights")
        weights = op.weights
        if weight_bytes is not None:
            elements = sum(self._weights.pop(w).elements for w in weights)
            weights = (self.raw_weight(f"{op.name}.weights", weight_bytes, elements or None),)
        self._blocks[-1][-1] = replace(op, cycles=op.cycles if cycles is None else cycles, weights=weights)

    def rename(self, body: list[Node], old: str, new: str) -> None:
        """Let what ``body`` defines as ``old`` be ``new``, in all of ``body``: an arm's result."""
        tensor = self._tensors.pop(old)
        known = self._tensors.setdefault(new, replace(tensor, name=new))
        if known.bytes != tensor.bytes:
            raise ValueError(f"{old} and {new} differ in size")
        body[:] = [_renamed(node, old, new) for node in body]

    def _append(self, node: Node) -> None:
        if node.name in self._names:
            raise BadInput(
                f"the name {node.name!r} is used twice",
                where=self.place,
                mend="give every op a name of its own",
            )
        self._names.add(node.name)
        self._blocks[-1].append(node)

    # -- ops -----------------------------------------------------------------------------------

    def emit(
        self,
        kind: str,
        name: str,
        work: Work,
        inputs: Sequence[Value],
        shapes: Sequence[Sequence[int]],
        *,
        weights: Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        out_dtype: str | Sequence[str] | None = None,
        cycles: int | None = None,
        in_place: bool = False,
        gathers: bool = False,
    ) -> tuple[Value, ...]:
        """Append one op; its outputs are named after it unless ``outputs`` says otherwise. Without
        ``out_dtype``, for all of them or one each, they have the element type of the first input."""
        names = outputs or ([name] if len(shapes) == 1 else [f"{name}:{i}" for i in range(len(shapes))])
        dtype = inputs[0].dtype if inputs else self.dtype
        given = (out_dtype,) * len(shapes) if isinstance(out_dtype, str) else out_dtype
        dtypes = given or (dtype,) * len(shapes)
        values = tuple(self.tensor(*each) for each in zip(names, shapes, dtypes, strict=True))
        op = Op(
            name=name,
            kind=kind,
            work=work,
            inputs=tuple(v.name for v in inputs),
            outputs=tuple(v.name for v in values),
            weights=tuple(weights),
            dtype=inputs[0].dtype if inputs else dtypes[0],
            cycles=cycles,
            overwrites=inputs[0].name if in_place and inputs else None,
            gathers=gathers,
            place=self.place,
        )
        self._append(op)
        return values

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
        image = _image(x, self.place)
        if image[1] % groups or out_c % groups or groups < 1:
            raise BadInput(
                f"{name!r}: {groups} groups do not divide {image[1]} input and {out_c} output channels",
                where=self.place,
                mend="take a number of groups that divides both",
            )
        one_d = len(x.shape) == 3
        kernel, stride, dilation, output_pad = (
            _pair(v, one_d) for v in (kernel, stride, dilation, output_pad)
        )
        if one_d:
            kernel, output_pad = (kernel[0], 1), (output_pad[0], 0)
        pads = _pads(pad, image, kernel, stride, dilation, one_d, transposed)
        window = _window(
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
        image = _image(x, self.place)
        one_d = len(x.shape) == 3
        kernel = (image[2], image[3]) if kernel is None else _pair(kernel, one_d)
        if one_d:
            kernel = (kernel[0], 1)
        stride = kernel if stride is None else _pair(stride, one_d)
        dilation = _pair(dilation, one_d)
        pads = _pads(pad, image, kernel, stride, dilation, one_d, False)
        window = _window(name, image, kernel, stride, dilation, pads, False, (0, 0), ceil, self.place)
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
                mend=f"both shapes must hold {x.elements} elements; one size may be -1",
            )
        return Value(x.name, sizes, x.dtype)

    def flatten(self, x: Value) -> Value:
        """A view as (N, features)."""
        return self.reshape(x, (x.shape[0], -1))

    def build(self) -> Program:
        """The finished program, not yet validated: see ``chipmodel.validate``."""
        return Program(
            name=self.name,
            tensors=dict(self._tensors),
            weights=dict(self._weights),
            inputs=tuple(self._inputs),
            outputs=tuple(self._outputs),
            body=tuple(self._blocks[0]),
            source=self.source,
            notes=tuple(self.notes),
        )


def _renamed(node: Node, old: str, new: str) -> Node:
    def names(given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in given)

    match node:
        case Op():
            overwrites = new if node.overwrites == old else node.overwrites
            return replace(
                node, inputs=names(node.inputs), outputs=names(node.outputs), overwrites=overwrites
            )
        case If():
            arms = tuple(replace(a, body=tuple(_renamed(n, old, new) for n in a.body)) for a in node.arms)
            return replace(node, arms=arms, condition=new if node.condition == old else node.condition)
        case Loop():
            body = tuple(_renamed(n, old, new) for n in node.body)
            return replace(node, body=body, carried=names(node.carried))


def broadcast_shape(
    name: str, shapes: Sequence[tuple[int, ...]], place: Place | None = None
) -> tuple[int, ...]:
    """NumPy's rule: aligned at the last axis, sizes equal or 1."""
    result: list[int] = []
    for axis in range(max(len(s) for s in shapes), 0, -1):
        sizes = {s[-axis] for s in shapes if len(s) >= axis} - {1}
        if len(sizes) > 1:
            raise BadInput(
                f"{name!r}: cannot broadcast {' with '.join(str(list(s)) for s in shapes)}",
                where=place,
                mend="sizes, aligned at the last axis, must be equal or 1",
            )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def matmul_work(
    name: str, a: tuple[int, ...], b: tuple[int, ...], place: Place | None = None
) -> tuple[tuple[int, ...], Matmul]:
    """The output shape and work of ``a @ b`` by NumPy's rules."""
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise BadInput(
            f"{name!r}: inner sizes {left[-1]} and {right[-2]} of {list(a)} and {list(b)} differ",
            where=place,
            mend="the last axis of the left must be as long as the last but one of the right",
        )
    batched = max(len(left), len(right)) > 2
    lead = broadcast_shape(name, [left[:-2], right[:-2]], place) if batched else ()
    shape = (*lead, *(left[-2:-1] if len(a) > 1 else ()), *(right[-1:] if len(b) > 1 else ()))
    shared = prod(right[:-2]) == 1
    return shape or (1,), Matmul(left[-2], left[-1], right[-1], max(1, prod(lead)), shared)


def _pair(value: int | tuple[int, int], one_d: bool) -> tuple[int, int]:
    if isinstance(value, int):
        return (value, 1) if one_d else (value, value)
    return value


def _image(x: Value, place: Place | None) -> tuple[int, int, int, int]:
    """(N, C, H, W); a sequence's length becomes H, so that it can be cut in rows."""
    match x.shape:
        case (n, c, h, w):
            return n, c, h, w
        case (n, c, length):
            return n, c, length, 1
        case _:
            raise BadInput(
                f"{x.name!r} has shape {list(x.shape)}",
                where=place,
                mend="convolution and pooling take [N, C, H, W] or [N, C, L]",
            )


def _pads(
    pad: Padding,
    image: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    one_d: bool,
    transposed: bool,
) -> Pads:
    if pad == "valid":
        return 0, 0, 0, 0
    if isinstance(pad, int):
        return (pad, 0, pad, 0) if one_d else (pad, pad, pad, pad)
    if pad != "same":
        return pad
    # TensorFlow's rule: out = ceil(in / stride) (in * stride transposed), the odd one at the end.
    totals: list[int] = []
    for size, k, s, d in zip(image[2:], kernel, stride, dilation, strict=True):
        reach = d * (k - 1) + 1
        totals.append(max(0, reach - s) if transposed else max(0, (-(-size // s) - 1) * s + reach - size))
    top, left = (t // 2 for t in totals)
    return top, left, totals[0] - top, totals[1] - left


def _window(
    name: str,
    image: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    pads: Pads,
    transposed: bool,
    output_pad: tuple[int, int],
    ceil: bool,
    place: Place | None,
) -> Window:
    sizes: list[int] = []
    for axis in (0, 1):
        total = pads[axis] + pads[axis + 2]
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        size = image[2 + axis]
        if transposed:
            sizes.append((size - 1) * stride[axis] - total + reach + output_pad[axis])
            continue
        span = size + total - reach
        out = (-(-span // stride[axis]) if ceil else span // stride[axis]) + 1
        # A window that ceil adds must start inside the image or its leading padding (ONNX, PyTorch).
        if ceil and (out - 1) * stride[axis] >= size + pads[axis]:
            out -= 1
        sizes.append(out)
    if min(sizes) < 1:
        raise BadInput(
            f"{name!r}: a {kernel[0]}x{kernel[1]} window does not fit its {image[2]}x{image[3]} input",
            where=place,
            mend="check kernel, stride, padding and the input's shape",
        )
    return Window(
        image[2], image[3], sizes[0], sizes[1], *kernel, *stride, *pads, *dilation, transposed=transposed
    )
