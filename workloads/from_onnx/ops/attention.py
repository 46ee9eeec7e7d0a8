"""Attention nodes of ONNX graphs, as the ops that an NPU runs: two matrix products with a softmax between."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from chipmodel.model.attributes import AlongAxis
from chipmodel.model.work import Matmul, Vector
from chipmodel.records import dataclass
from workloads.build.shapes import Value
from workloads.from_onnx.graph import OnnxNode, unfit
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, operator


@dataclass(frozen=True, slots=True)
class AttentionSizes:
    """``batch`` x ``heads`` products of (``queries`` x ``size``) by (``size`` x ``keys``)."""

    batch: int
    heads: int
    queries: int
    keys: int
    size: int
    value_size: int


@dataclass(frozen=True, slots=True)
class _Operands:
    """Queries, keys and values, which may be one packed tensor; the mask, and the weights of the softmax."""

    q: Value
    k: Value
    v: Value
    mask: list[Value]
    weights: list[str]


@operator("Attention")
def attention(low: OnnxLowering, node: OnnxNode) -> None:
    """ONNX's own, operator set 23: q, k, v as (B, S, width) or (B, heads, S, size), mask, past k, v."""
    q, k, v = (low.value(node, i) for i in range(3))
    q_heads, kv_heads = node.integer("q_num_heads", 1), node.integer("kv_num_heads", 1)
    if len(q.shape) == 4:
        q_heads, kv_heads = q.shape[1], k.shape[1]
    batch, queries, size = _split(node, q, q_heads)
    _, keys, _ = _split(node, k, kv_heads)
    _, _, value_size = _split(node, v, kv_heads)
    past = low.shape(node.input(4))[2] if node.input(4) else 0
    heads = AttentionSizes(batch, q_heads, queries, keys + past, size, value_size)
    mask = low.activations(node.inputs[3:4])
    k = _with_cache(low, node, k, 4, 1)
    v = _with_cache(low, node, v, 5, 2)
    _attend(low, node, heads, _Operands(q, k, v, mask, low.weights(node.inputs[3:4])))


def _split(node: OnnxNode, x: Value, heads: int) -> tuple[int, int, int]:
    """Batch, sequence length and head size."""
    if len(x.shape) == 4:
        return x.shape[0], x.shape[2], x.shape[3]
    if len(x.shape) != 3 or x.shape[2] % heads:
        raise unfit(node, f"{heads} heads do not divide its operand {list(x.shape)}")
    return x.shape[0], x.shape[1], x.shape[2] // heads


def _with_cache(
    low: OnnxLowering, node: OnnxNode, x: Value, past: int, present: int, shape: Sequence[int] = ()
) -> Value:
    """Keys, values or both after those of the cache, input ``past``; output ``present`` is the new cache, of
    that ``shape`` where it differs from the file's. ``x`` itself where there is none."""
    output = node.outputs[present] if len(node.outputs) > present else ""
    cached = low.activations(node.inputs[past : past + 1])
    if not cached and not low.is_used(output):
        return x
    name = f"{node.name}.present" if shape else f"{node.name}.present_{present}"
    elements = prod(shape) if shape else x.elements + sum(v.elements for v in cached)
    own = shape or (low.shape(output) if output else (elements,))
    moved = Value(output or name, (elements,), x.dtype)
    work = Vector(elements, x.bytes + sum(v.bytes for v in cached), moved.bytes)
    kind = "concat" if cached else "transpose"
    (value,) = low.builder.emit(
        kind, name, work, [*cached, x], [own], outputs=[moved.name], out_dtype=x.dtype
    )
    low.values[value.name] = value
    return value


def _attend(low: OnnxLowering, node: OnnxNode, heads: AttentionSizes, given: _Operands) -> None:
    """Append scores, softmax and weighted values."""
    q, mask = given.q, given.mask
    products = heads.batch * heads.heads
    shape = (heads.batch, heads.heads, heads.queries, heads.keys)
    build = low.builder
    right = [given.k] if given.k.name != q.name else []  # packed operands are read once
    work = Matmul(heads.queries, heads.size, heads.keys, products, False)
    names = _score_names(low, node)
    # Of an operand (B, S, width) the rows of one head lie apart.
    whole = [i for i, each in enumerate((q, *right)) if heads.heads > 1 and len(each.shape) != 4]
    (scores,) = build.emit(
        "matmul", f"{node.name}.scores", work, [q, *right], [shape], outputs=names[:1], whole=whole
    )
    total = prod(shape)
    soft = Vector(
        total,
        scores.bytes + sum(m.bytes for m in mask),
        scores.bytes,
        products * heads.queries,
        tuple(i + 1 for i, m in enumerate(mask) if m.elements < total),
        AlongAxis(3, heads.keys),
    )
    (probabilities,) = build.emit(
        "softmax",
        f"{node.name}.softmax",
        soft,
        [scores, *mask],
        [shape],
        weights=given.weights,
        outputs=names[1:],
    )
    low.values.update({value.name: value for value in (scores, probabilities)})
    mixed = Matmul(heads.queries, heads.keys, heads.value_size, products, False)
    whole = [1] if heads.heads > 1 and len(given.v.shape) != 4 else []
    low.emit("matmul", node, mixed, [probabilities, given.v], outputs=[node.output], whole=whole)


def _score_names(low: OnnxLowering, node: OnnxNode) -> list[str]:
    """Names of the scores before and after the softmax; ONNX's own node can have either as an output."""
    names = [f"{node.name}.scores", f"{node.name}.softmax"]
    output = node.outputs[3] if len(node.outputs) > 3 and not node.domain else ""
    if low.is_used(output):
        names[int(node.integer("qk_matmul_output_mode", 0) == 3)] = output
    return names


@operator("Attention", domain=MICROSOFT)
def packed_attention(low: OnnxLowering, node: OnnxNode) -> None:
    """One dense layer makes q, k and v of the input; then attention over them."""
    x = low.value(node)
    if not low.is_constant(node.input(1)):
        raise unfit(node, "its weights must be constants", "export the model again")
    weight = low.shape(node.input(1))
    sizes = node.integers("qkv_hidden_sizes") or (weight[-1] // 3,) * 3
    count = max(1, node.integer("num_heads", 1))
    if (
        len(sizes) != 3
        or sum(sizes) != weight[-1]
        or x.shape[-1] != weight[0]
        or any(s % count for s in sizes)
    ):
        raise unfit(node, f"its weight {list(weight)} and {count} heads do not fit its input {list(x.shape)}")
    held = [low.weight(node.input(1)), *low.weights(node.inputs[2:3], bias=True)]
    work = Matmul(prod(x.shape[:-1]), weight[0], weight[1])
    name = f"{node.name}.qkv"
    (qkv,) = low.builder.emit("dense", name, work, [x], [(*x.shape[:2], weight[1])], weights=held)
    past = low.shape(node.input(4))[3] if node.input(4) else 0
    keys = past + x.shape[1]
    heads = AttentionSizes(x.shape[0], count, x.shape[1], keys, sizes[0] // count, sizes[2] // count)
    mask = low.activations([node.input(3), node.input(5)])
    both = _with_cache(low, node, qkv, 4, 1, (2, heads.batch, heads.heads, heads.keys, heads.size))
    _attend(low, node, heads, _Operands(qkv, both, both, mask, low.weights([node.input(5)])))


@operator("MultiHeadAttention", "GroupQueryAttention", domain=MICROSOFT)
def multi_head_attention(low: OnnxLowering, node: OnnxNode) -> None:
    """Query, key, value with a cache; key and value may be packed into the query."""
    grouped = node.op == "GroupQueryAttention"
    q = low.value(node)
    k = low.value(node, 1) if node.input(1) else q
    v = low.value(node, 2) if node.input(2) else k
    count = max(1, node.integer("num_heads", 1))
    width = prod(low.shape(node.output)[2:])
    past_at = 3 if grouped else 6
    past = low.shape(node.input(past_at))[2] if node.input(past_at) else 0
    keys = k.shape[2] if len(k.shape) == 4 else k.shape[1]
    size = width // count if k is q else q.shape[-1] // count
    heads = AttentionSizes(q.shape[0], count, q.shape[1], keys + past, size, width // count)
    if past or low.is_used(node.outputs[1] if len(node.outputs) > 1 else ""):
        k, v = _with_cache(low, node, k, past_at, 1), _with_cache(low, node, v, past_at + 1, 2)
    mask = [] if grouped else low.activations([node.input(4), node.input(5)])
    held = [] if grouped else [*low.weights([node.input(3)], bias=True), *low.weights([node.input(5)])]
    _attend(low, node, heads, _Operands(q, k, v, mask, held))


@operator("RotaryEmbedding")
@operator("RotaryEmbedding", domain=MICROSOFT)
def rotary_embedding(low: OnnxLowering, node: OnnxNode) -> None:
    """Sines and cosines come from tables of weights."""
    low.vector(node, "rotary_embedding", rows=low.shape(node.output)[0])
