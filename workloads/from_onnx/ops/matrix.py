"""Matrix products and recurrent layers of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from chipmodel.model.work import Matmul, Recurrent
from chipmodel.records import dataclass
from workloads.build.shapes import matmul_work
from workloads.from_onnx.contrib_shapes import transposed_last
from workloads.from_onnx.einsum import einsum_product
from workloads.from_onnx.fusion import FusionResult, fuse
from workloads.from_onnx.graph import OnnxNode, unfit
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, operator


@operator("MatMul", "Gemm")
@operator("FusedMatMul", "FusedGemm", domain=MICROSOFT)
def matmul(low: OnnxLowering, node: OnnxNode) -> None:
    """a times b, either of which may be a weight or read with its last axes swapped, plus c in a Gemm."""
    product(low, node, node.input(0), node.input(1), swaps=_swaps(node), others=node.inputs[2:3])


@operator("MatMulInteger")
@operator("MatMulIntegerToFloat", "DynamicQuantizeMatMul", domain=MICROSOFT)
def matmul_integer(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands a and b, then scales and zero points; the operators with float results also have a bias."""
    at = {"MatMulIntegerToFloat": 6, "DynamicQuantizeMatMul": 4}.get(node.op, len(node.inputs))
    product(low, node, node.input(0), node.input(1), others=node.inputs[at : at + 1])


@operator("QLinearMatMul")
def quantised_matmul(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands a and b, each with scale and zero point, then those of the result."""
    product(low, node, node.input(0), node.input(3))


@operator("QGemm", domain=MICROSOFT)
def quantised_gemm(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands a and b, each with scale and zero point, then the bias."""
    product(low, node, node.input(0), node.input(3), swaps=_swaps(node), others=node.inputs[6:7])


@operator("MatMulNBits", domain=MICROSOFT)
def blocked_matmul(low: OnnxLowering, node: OnnxNode) -> None:
    """Weights of ``bits`` bits in blocks, whose scales and zero points are loaded as the file stores them."""
    inner, cols = node.integer("K", 1), node.integer("N", 1)
    x = low.value(node)
    if x.shape[-1] != inner:
        raise unfit(node, f"its K is {inner} and its input has {x.shape[-1]} columns")
    bits = node.integer("bits", 4)
    if low.fact(node.input(1)).elements * 8 < inner * cols * bits:
        what = f"its weights {list(low.shape(node.input(1)))} are less than {inner} x {cols} numbers"
        raise unfit(node, what)
    fused = fuse(low, node.output, channel_axis=-1, scales=True)
    held = [
        low.stored(name, size) for name, size in zip(node.inputs[1:4], (inner * cols, 0, 0), strict=False)
    ]
    held = [*filter(None, held), *low.weights([node.input(5) or fused.bias], bias=True)]
    work = Matmul(max(1, x.elements // inner), inner, cols)
    low.emit("dense", node, work, [x], outputs=[fused.output], weights=[*held, *low.weights(fused.weights)])


def _swaps(node: OnnxNode) -> tuple[int, int]:
    return node.integer("transA", 0), node.integer("transB", 0)


def product(
    low: OnnxLowering,
    node: OnnxNode,
    a: str,
    b: str,
    *,
    swaps: tuple[int, int] = (0, 0),
    others: Sequence[str] = (),
) -> None:
    """Append ``a`` times ``b`` plus ``others`` (a bias or a third activation), with what can be fused."""
    left, right = transposed_last(low.shape(a), swaps[0]), transposed_last(low.shape(b), swaps[1])
    shape, work = matmul_work(node.name, left, right)
    if prod(shape) != prod(low.shape(node.output)):
        raise unfit(node, f"{list(left)} times {list(right)} is not {list(low.shape(node.output))}")
    # Output channels are rows where the weight is on the left, else the last axis.
    channels = -2 if low.is_constant(a) and len(left) > 1 and len(right) > 1 else -1
    weighted = low.is_constant(a) or low.is_constant(b)
    fused = fuse(low, node.output, channel_axis=channels, scales=weighted)
    if low.is_constant(b) and not low.is_constant(a):
        work = _batch_as_rows(work, right)
    # A left operand that is swapped has its rows in columns.
    _append_product(low, node, _ProductOperands(a, b, work, bool(swaps[1]), others, bool(swaps[0])), fused)


@dataclass(frozen=True, slots=True)
class _ProductOperands:
    """``a`` times ``b``, either of which may be a weight, plus ``others``."""

    a: str
    b: str
    work: Matmul
    right_transposed: bool
    others: Sequence[str] = ()
    whole: bool = False
    """Whether every part needs all of ``a``."""


def _append_product(
    low: OnnxLowering, node: OnnxNode, product: _ProductOperands, fused: FusionResult
) -> None:
    a, b, work = product.a, product.b, product.work
    weighted = low.is_constant(a) or low.is_constant(b)
    biases = [name for name in (*product.others, fused.bias) if name]
    held = low.weights([a, b], merged=fused.merged)
    held += [
        *low.weights(biases, bias=True, merged=(*fused.merged, *fused.shifted)),
        *low.weights(fused.weights),
    ]
    inputs = [*low.activations([a, b]), *low.activations(product.others)]
    if low.is_constant(a):
        work = _transposed(work)
    work = replace(work, right_transposed=product.right_transposed and not weighted)
    # What weights are multiplied to has its rows in columns.
    whole = [0] if product.whole or low.is_constant(a) else []
    kind = "dense" if weighted else "matmul"
    low.emit(kind, node, work, inputs, outputs=[fused.output], weights=held, whole=whole)


def _batch_as_rows(work: Matmul, right: tuple[int, ...]) -> Matmul:
    """The product with one weight matrix for the batch, as one product with all rows of the batch."""
    shared = prod(right[:-2]) == 1
    return Matmul(work.batch * work.rows_, work.inner, work.cols) if shared else work


def _transposed(work: Matmul) -> Matmul:
    """The product with a weight on the left, as its transpose with the weight on the right."""
    return Matmul(work.cols, work.inner, work.rows_, work.batch, work.batch == 1)


@operator("Einsum")
def einsum(low: OnnxLowering, node: OnnxNode) -> None:
    """Two operands with a sum are a batched matrix product; others are modelled by their bytes."""
    product = einsum_product(node)
    if product is None:
        low.vector(node, "einsum", rows=1)
        return
    a, b = node.inputs
    sizes = dict(zip(product.right, low.shape(b), strict=False)) | dict(
        zip(product.left, low.shape(a), strict=False)
    )
    rows, inner, cols, batch = (
        prod(sizes.get(index, 1) for index in indices)
        for indices in (product.rows, product.inner, product.cols, product.batch)
    )
    work = Matmul(rows, inner, cols, batch, not product.batch)
    left = low.is_constant(a)
    fused = fuse(
        low,
        node.output,
        channel_axis=len(product.batch if left else product.batch + product.rows),
        axes=len(product.rows if left else product.cols),
        scales=not product.batch and (left or low.is_constant(b)),
    )
    _append_product(low, node, _ProductOperands(a, b, work, product.right_transposed), fused)


@operator("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_lstm(low: OnnxLowering, node: OnnxNode) -> None:
    """The same as LSTM, with weights [directions, inputs, gates * hidden]; scales and zero points follow."""
    x, w, r = (low.shape(node.input(i)) for i in range(3))
    directions, hidden = r[0], r[1]
    if w != (directions, x[2], 4 * hidden) or r[2] != 4 * hidden:
        raise unfit(node, f"its weights {list(w)}, {list(r)} do not fit 4 gates and {x[2]} inputs")
    work = Recurrent(x[0], x[2], hidden, 4, directions, x[1])
    _append_recurrent(low, node, "lstm", work, [])


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@operator(*GATES)
def recurrent(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands x, w, r, bias, sequence lengths, initial h, for LSTM initial c and peepholes."""
    gates = GATES[node.op]
    x, w, r = (low.shape(node.input(i)) for i in range(3))
    steps, batch = (x[1], x[0]) if node.integer("layout", 0) else (x[0], x[1])
    directions, hidden = w[0], r[-1]
    if w != (directions, gates * hidden, x[2]) or r != (directions, gates * hidden, hidden):
        raise unfit(
            node,
            f"its weights {list(w)}, {list(r)} do not fit {gates} gates of {hidden} units and {x[2]} inputs",
            "w has the shape [directions, gates * hidden, inputs], r [directions, gates * hidden, hidden]",
        )
    work = Recurrent(steps, x[2], hidden, gates, directions, batch)
    # The steps of each of several sequences lie together.
    apart = node.integer("layout", 0) == 1 and batch > 1
    _append_recurrent(low, node, node.op.lower(), work, [0] if apart else [])


def _append_recurrent(
    low: OnnxLowering, node: OnnxNode, kind: str, work: Recurrent, whole: Sequence[int]
) -> None:
    states = [name for name in node.inputs[5:7] if name and not _zero(low, name)]
    held = low.weights([node.input(1), node.input(2)])
    held += [*low.weights([node.input(3)], bias=True), *low.weights([*states, *node.inputs[7:8]])]
    inputs = [low.value(node), *low.activations([*node.inputs[1:5], *states, *node.inputs[7:8]])]
    low.emit(kind, node, work, inputs, weights=held, whole=whole)


def _zero(low: OnnxLowering, name: str) -> bool:
    """Whether an initial state is all zeros, so that nothing has to be loaded."""
    array = low.fact(name).array
    return array is not None and not array.any()
