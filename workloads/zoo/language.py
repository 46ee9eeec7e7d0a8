"""Language models of TinyStories: Llama 2's layers, sizes as in the README of github.com/karpathy/llama2.c.

One run takes ``tokens`` tokens after ``past`` earlier ones, whose keys and values are inputs. A layer's cache
has a row of all heads for each token, as in run.c of the same repository, so it grows at its end. Only the
last token's scores are computed, with the table of embeddings as their weights.
"""

from __future__ import annotations

from typing import Literal

from chipmodel.model.attributes import AlongAxis, OverAxes, SliceRanges
from chipmodel.model.work import Matmul
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.control_flow import look_up
from workloads.zoo.layers import concat


@dataclass(frozen=True, slots=True)
class StorySizes:
    """Sizes of a model: ``width`` of a token, ``hidden`` units of a feed-forward layer, ``words`` known."""

    width: int
    layers: int
    heads: int
    cached_heads: int
    hidden: int
    words: int


SIZES = {
    "260K": StorySizes(64, 5, 8, 4, 172, 512),
    "15M": StorySizes(288, 6, 6, 6, 768, 32000),
    "42M": StorySizes(512, 8, 8, 8, 1376, 32000),
    "110M": StorySizes(768, 12, 12, 12, 2048, 32000),
}


def stories(
    net: ProgramBuilder, *, variant: Literal["260K", "15M", "42M", "110M"], tokens: int, past: int
) -> None:
    """Inputs: ``tokens`` and the caches. Outputs: the last token's scores and the caches with all tokens."""
    sizes = SIZES[variant]
    given = net.input("tokens", (tokens,), "int32")
    table = net.weight("words", sizes.words * sizes.width)
    x = look_up(net, "embedding", given, table, sizes.width)
    for layer in range(sizes.layers):
        x = _feed_forward(net, f"layer{layer}", sizes, _attention(net, layer, sizes, x, past))
    if tokens > 1:
        last = SliceRanges((tokens - 1, 0), (1, 1))
        x = net.vector("slice", "last", [x], (1, sizes.width), attributes=last)
    x = _norm(net, "norm", x)
    net.output(net.dense("scores", x, sizes.words, weights=[table]))


def _norm(net: ProgramBuilder, name: str, x: Value) -> Value:
    weight = net.weight(f"{name}.weight", x.shape[-1])
    return net.vector("rms_norm", name, [x], weights=[weight], attributes=OverAxes((1,)))


def _attention(net: ProgramBuilder, layer: int, sizes: StorySizes, x: Value, past: int) -> Value:
    name, tokens, size = f"layer{layer}", x.shape[0], sizes.width // sizes.heads
    seen = _norm(net, f"{name}.attention_norm", x)
    cached = sizes.cached_heads * size
    q = net.dense(f"{name}.q", seen, sizes.width, bias=False)
    q = net.vector("rotary_embedding", f"{name}.q_turned", [q])
    k = net.dense(f"{name}.k", seen, cached, bias=False)
    k = net.vector("rotary_embedding", f"{name}.k_turned", [k])
    v = net.dense(f"{name}.v", seen, cached, bias=False)
    keys, values = (_cached(net, layer, *each, past) for each in (("key", k), ("value", v)))
    scores = Matmul(tokens, size, past + tokens, sizes.heads, False, right_transposed=True)
    shape = (sizes.heads, tokens, past + tokens)
    # The rows of one head lie apart in all three.
    (found,) = net.emit("matmul", f"{name}.scores", scores, [q, keys], [shape], whole=[0, 1])
    shares = net.vector("softmax", f"{name}.softmax", [found], attributes=AlongAxis(2, past + tokens))
    mixed = Matmul(tokens, past + tokens, size, sizes.heads, False)
    (seen,) = net.emit("matmul", f"{name}.mixed", mixed, [shares, values], [x.shape], whole=[1])
    return net.elementwise(
        "add", f"{name}.attended", [x, net.dense(f"{name}.o", seen, x.shape[-1], bias=False)]
    )


def _cached(net: ProgramBuilder, layer: int, kind: str, new: Value, past: int) -> Value:
    """The cache with ``new`` rows at its end, an output under the name that exporters give it."""
    name = f"present.{layer}.{kind}"
    if past:
        before = net.input(f"past_key_values.{layer}.{kind}", (past, new.shape[1]))
        new = concat(net, name, [before, new], axis=0)
    net.output(new)
    return new


def _feed_forward(net: ProgramBuilder, name: str, sizes: StorySizes, x: Value) -> Value:
    seen = _norm(net, f"{name}.feed_forward_norm", x)
    gate = net.dense(f"{name}.gate", seen, sizes.hidden, bias=False)
    gate = net.elementwise("silu", f"{name}.silu", [gate])
    up = net.dense(f"{name}.up", seen, sizes.hidden, bias=False)
    both = net.elementwise("mul", f"{name}.gated", [gate, up])
    return net.elementwise(
        "add", f"{name}.fed", [x, net.dense(f"{name}.down", both, x.shape[-1], bias=False)]
    )
