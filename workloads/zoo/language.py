"""Layers of language models, as words of the catalogue.

==============================  ==========================================================================
``norm`` ``rotate``             a root mean square normalisation; rotary embeddings
``cache:0,key,255``             appends the tensor so far to what layer 0 has cached of 255 tokens as ``key``;
                                the cache of all tokens is an output
``heads:8,q,k,v``               attention with 8 heads of the tokens ``q`` to the cached ``k`` and ``v``
``last`` ``tied:a,512``         the last token; a dense layer of 512 numbers with the table ``a`` as weights
==============================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.model.attributes import AlongAxis, OverAxes, SliceRanges
from chipmodel.model.work import Matmul
from workloads.build.shapes import Value
from workloads.zoo import control_flow
from workloads.zoo.layered import LayeredNetwork, Words


def norm(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The normalisation of each token."""
    weights = [at.net.weight(f"{name}.weight", at.now.shape[-1])]
    return at.net.vector("rms_norm", name, [at.now], weights=weights, attributes=OverAxes((1,)))


def rotate(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The rotation of each token."""
    return at.net.vector("rotary_embedding", name, [at.now])


def cache(at: LayeredNetwork, _: str, texts: Sequence[str]) -> Value:
    """The cache with new rows at its end, an output under the name that exporters give it."""
    layer, kind, past = texts
    new, name = at.now, f"present.{layer}.{kind}"
    if at.number(past):
        before = at.net.input(f"past_key_values.{layer}.{kind}", (at.number(past), new.shape[1]))
        new = at.net.concat(name, [before, new], 0)
    at.net.output(new)
    return new


def heads(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    """Products with all keys, their softmax, and the product of that with all values."""
    number, (q, keys, values) = at.number(texts[0]), map(at.called, texts[1:])
    (tokens, width), seen = q.shape, keys.shape[0]
    scores = Matmul(tokens, width // number, seen, number, False, right_transposed=True)
    # The rows of one head lie apart in all three.
    (made,) = at.net.emit(
        "matmul", f"{name}.scores", scores, [q, keys], [(number, tokens, seen)], whole=[0, 1]
    )
    shares = at.net.vector("softmax", f"{name}.softmax", [made], attributes=AlongAxis(2, seen))
    mixed = Matmul(tokens, seen, width // number, number, False)
    return at.net.emit("matmul", f"{name}.mixed", mixed, [shares, values], [q.shape], whole=[1])[0]


def last(at: LayeredNetwork, name: str, _: Sequence[str]) -> Value:
    """The last token; nothing where it is the only one."""
    tokens, width = at.now.shape
    if tokens == 1:
        return at.now
    return at.net.vector("slice", name, [at.now], (1, width), attributes=SliceRanges((tokens - 1, 0), (1, 1)))


def tied(at: LayeredNetwork, name: str, texts: Sequence[str]) -> Value:
    """A dense layer whose weights are a table's."""
    return at.net.dense(name, at.now, at.number(texts[1]), weights=texts[:1])


WORDS: Words = {
    **control_flow.WORDS,
    "norm": norm,
    "rotate": rotate,
    "cache": cache,
    "heads": heads,
    "last": last,
    "tied": tied,
}
