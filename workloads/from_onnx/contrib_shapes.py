"""Output shapes of common operators that ONNX Runtime adds to ONNX's own (domain com.microsoft).

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from workloads.build.shapes import matmul_work
from workloads.from_onnx.graph import Fact, OnnxNode
from workloads.from_onnx.operator_table import operators

Outputs = dict[str, tuple[int, tuple[int, ...] | None]]
"""Element type and shape of each output."""

STANDARD_FORM: Mapping[str, str] = {"FusedConv": "Conv", "FusedGemm": "Gemm"}
"""The standard operator to which an operator adds attributes."""

SAME_AS_FIRST = operators("same_as_first", "com.microsoft")

UINT8 = 2
DOMAINS = frozenset(["com.microsoft", "ai.onnx.contrib"])


def contrib_outputs(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs | None:
    """Element type and shape of each output; None for operators that are standard or not known here."""
    if node.domain not in DOMAINS or not node.input(0):
        return None
    first = facts[node.input(0)]
    if node.op in SAME_AS_FIRST:
        return {node.output: (first.element, first.shape), **_summed(node, first)}
    rule = _RULES.get(node.op)
    return rule(node, facts) if rule else None


def _summed(node: OnnxNode, first: Fact) -> Outputs:
    """The fourth output of SkipLayerNormalization: the sum before the norm."""
    return {node.outputs[3]: (first.element, first.shape)} if len(node.outputs) > 3 else {}


def _fused_matmul(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    a, b = facts[node.input(0)], facts[node.input(1)]
    left = transposed_last(a.shape, node.integer("transA", 0))
    right = transposed_last(b.shape, node.integer("transB", 0))
    return {node.output: (a.element, matmul_work(node.name, left, right)[0])}


def transposed_last(shape: tuple[int, ...], swap: int) -> tuple[int, ...]:
    """``shape``, with its last two axes swapped where ``swap`` is not 0."""
    return (*shape[:-2], shape[-1], shape[-2]) if swap and len(shape) > 1 else shape


def _quantised_matmul(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    a, b = facts[node.input(0)], facts[node.input(1)]
    return {node.output: (1, matmul_work(node.name, a.shape, b.shape)[0])}


def _quantised_gemm(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    a, b = facts[node.input(0)], facts[node.input(3)]
    rows = a.shape[1 if node.integer("transA", 0) else 0]
    cols = b.shape[0 if node.integer("transB", 0) else 1]
    return {node.output: (a.element, (rows, cols))}


def _blocked_rows(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    """Rows of a table that holds two numbers of 4 bits in a byte."""
    table, indices, scales = (facts[node.input(i)] for i in range(3))
    packed = table.element == UINT8 and node.integer("bits", 4) == 4
    sizes = (*table.shape[:-1], table.shape[-1] * (2 if packed else 1))
    axis = node.integer("gather_axis", 0) % len(sizes)
    return {node.output: (scales.element, (*sizes[:axis], *indices.shape, *sizes[axis + 1 :]))}


def _blocked_matmul(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    a = facts[node.input(0)]
    return {node.output: (a.element, (*a.shape[:-1], node.integer("N", 1)))}


def _packed_attention(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    x, w = facts[node.input(0)], facts[node.input(1)]
    sizes = node.integers("qkv_hidden_sizes")
    hidden = sizes[2] if len(sizes) == 3 else w.shape[-1] // 3
    outputs: Outputs = {node.output: (x.element, (*x.shape[:2], hidden))}
    heads = max(1, node.integer("num_heads", 1))
    if len(node.outputs) > 1:
        past = facts[node.input(4)].shape[3] if node.input(4) else 0
        present = (2, x.shape[0], heads, past + x.shape[1], hidden // heads)
        outputs[node.outputs[1]] = (x.element, present)
    return outputs


def _multi_head_attention(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    """Query (B, S, D), or packed (B, S, heads, 3, head size); the cache grows by the new keys."""
    query = facts[node.input(0)]
    heads = max(1, node.integer("num_heads", 1))
    if len(query.shape) not in (3, 5):
        raise ValueError(f"its query {list(query.shape)} must have 3 axes, or 5 where all is packed")
    if len(query.shape) == 5:
        return {node.output: (query.element, (*query.shape[:2], heads * query.shape[-1]))}
    kv_heads = max(1, node.integer("kv_num_heads", heads))
    key_at, past_at = (1, 3) if node.op == "GroupQueryAttention" else (1, 6)
    packed = not node.input(key_at)
    width = query.shape[-1] * heads // (heads + 2 * kv_heads) if packed else query.shape[-1]
    value = facts[node.input(2)] if node.input(2) else None
    keys = _sequence(facts[node.input(key_at)].shape) if not packed else query.shape[1]
    past = facts[node.input(past_at)].shape[2] if node.input(past_at) else 0
    hidden = width if value is None or kv_heads != heads else prod(value.shape) // value.shape[0] // keys
    outputs: Outputs = {node.output: (query.element, (*query.shape[:2], hidden))}
    for name in node.outputs[1:3]:
        outputs[name] = (query.element, (query.shape[0], kv_heads, past + keys, width // heads))
    return outputs


def _sequence(shape: tuple[int, ...]) -> int:
    """Sequence length of keys (B, S, D), or (B, heads, S, head size) in a cross attention."""
    return shape[2] if len(shape) == 4 else shape[1]


def _embeddings(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    ids, words = facts[node.input(0)], facts[node.input(2)]
    outputs: Outputs = {node.output: (words.element, (*ids.shape, words.shape[-1]))}
    if len(node.outputs) > 1:
        outputs[node.outputs[1]] = (ids.element, ids.shape[:1])
    if len(node.outputs) > 2:
        outputs[node.outputs[2]] = outputs[node.output]
    return outputs


def _dynamic_lstm(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    """All states (S, directions, B, hidden), then the last one and the last cells."""
    x, r = facts[node.input(0)], facts[node.input(2)]
    directions, hidden = r.shape[0], r.shape[1]
    last = (directions, x.shape[1], hidden)
    shapes = zip(node.outputs, ((x.shape[0], *last), last, last), strict=False)
    return {name: (x.element, shape) for name, shape in shapes}


_RULES: Mapping[str, Callable[[OnnxNode, Mapping[str, Fact]], Outputs]] = {
    "FusedMatMul": _fused_matmul,
    "MatMulIntegerToFloat": _quantised_matmul,
    "DynamicQuantizeMatMul": _quantised_matmul,
    "MatMulNBits": _blocked_matmul,
    "QGemm": _quantised_gemm,
    "GatherBlockQuantized": _blocked_rows,
    "Attention": _packed_attention,
    "MultiHeadAttention": _multi_head_attention,
    "GroupQueryAttention": _multi_head_attention,
    "EmbedLayerNormalization": _embeddings,
    "DynamicQuantizeLSTM": _dynamic_lstm,
}
