"""Networks whose layers are written in the catalogue (``layers`` in networks/*.yaml), one word a layer.

A word is a kind, then after a colon what the kind takes: channels, kernel ``k``, stride ``s``, dilation
``d``, groups ``g``, repeats ``n``, expansion ``t``, padding ``p`` on each side, ``u`` for none; by default it
is "same". ``{option}`` is an option's value, ``+`` and ``*`` add and multiply, and channels that end in ``w``
are scaled by the option ``width`` and rounded as MobileNet v2's code rounds them, in ``v`` rounded down, in
``y`` too but to no fewer than 8. Where a network has variants, each has its words.

==============================  ==========================================================================
``input:1,49,10``               the input: channels, rows, columns (by default a square image of 3 channels)
``conv:16,k3,s2``               a convolution, by default 1x1; ``dw:k3`` a depthwise one; ``sep:16`` both
``up-conv:16,k2,s2``            a transposed convolution
``max:3,s2`` ``avg:2`` ``mean`` pooling; by default the stride is the kernel, and ``mean`` is of all the
                                image; ``c`` rounds sizes up
``to:7``                        pooling to 7 x 7, as PyTorch's AdaptiveAvgPool2d
``block:24,t6,k5,s2,n3,e4,a``   inverted residuals (MobileNet v2), ``a`` with hard swishes, ``b`` swishes;
                                ``f`` with a whole convolution in place of the first two; ``e4`` with squeeze
                                and excitation by a quarter of the channels inside, ``q`` of those before,
                                ``z`` with a clip before the gate; ``p`` pads by half of the kernel
``fire:16``                     SqueezeNet's: a squeeze to 16, then 1x1 and 3x3 side by side, 64 each
``units:116,n4``                a stage of ShuffleNet v2
``half`` ``shuffle:2``          the second half of the channels; channels as blocks of 2 x 2 pixels
``dense:10`` ``softmax`` ...    a dense layer, of the flattened image; element-wise functions by their names
``head:10``                     the mean, a dense layer, and what the option ``head`` says; nothing where the
                                option ``body`` is ``chain``, which also leaves out additions in blocks
``flat`` ``rows``               the image as one row; the bytes of a signal as a row of channels each time
``save:a`` ``from:a``           names the tensor so far, or goes on from it
``add:a`` ``concat:a,b``        joins the tensor so far with others
``up:2`` ``up:a``               enlarges the image: twice, or to the size of ``a``; ``n`` repeats pixels
``add( ... )``                  a residual: the sum of what is inside and of its input, which a
                                convolution projects where the shapes differ
``3*( ... )``                   three times
``out``                         an output; the last tensor is one anyway
==============================  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Literal

from chipmodel.model.attributes import PixelBlocks, Scaling
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo.layers import (
    adaptive_pool,
    add,
    classified,
    concat,
    depthwise,
    divisible,
    excited,
    image,
    softmax,
    swish,
)
from workloads.zoo.shufflenet import unit_v2

OptionValues = Mapping[str, int | float | str]
_WORD = re.compile(r"(?P<times>\d+)\*\(|add\(|\)|[^\s()]+(?=\s|\)|$)")


class LayeredNetwork:
    """A network under construction: the tensor so far, and those that have names."""

    def __init__(self, net: ProgramBuilder, values: OptionValues) -> None:
        self.net = net
        self.width = float(values.get("width", 1))
        self.saved: dict[str, Value] = {}
        self.x: Value | None = None
        self.size = int(values["input"])
        self.head = str(values.get("head", "logits"))
        self.whole = values.get("body") != "chain"
        self.number = 0
        self.outputs: set[str] = set()

    def run(self, words: Sequence[str]) -> None:
        """Append the layers of ``words``."""
        position = 0
        while position < len(words):
            word = words[position]
            if word.endswith("("):
                end = _closing(words, position)
                inner = words[position + 1 : end]
                if word == "add(":
                    self._residual(inner)
                else:
                    for _ in range(int(word[:-2])):
                        self.run(inner)
                position = end
            else:
                kind, _, text = word.partition(":")
                self._layer(kind, text.split(",") if text else [])
            position += 1

    def end(self) -> None:
        """Make the tensor so far an output."""
        self._output(self._now())

    def _output(self, x: Value) -> None:
        if x.name not in self.outputs:
            self.outputs.add(x.name)
            self.net.output(x)

    def _now(self) -> Value:
        if self.x is None:
            self.x = image(self.net, self.size)
        return self.x

    def _name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def _residual(self, inner: Sequence[str]) -> None:
        before = self._now()
        self.run(inner)
        after = self._now()
        name = self._name("add")
        if before.shape != after.shape:
            stride = -(-before.shape[2] // after.shape[2])
            before = self.net.conv(f"{name}.project", before, after.shape[1], 1, stride=stride, pad="same")
        self.x = add(self.net, name, after, before)

    def _layer(self, kind: str, texts: Sequence[str]) -> None:
        if kind == "input":
            self.x = self.net.input("input", (1, *map(self._number, texts)))
        elif kind == "save":
            self.saved[texts[0]] = self._now()
        elif kind == "from":
            self.x = self.saved[texts[0]]
        elif kind == "out":
            self._output(self._now())
        elif kind in ("add", "concat"):
            others = [self.saved[text] for text in texts]
            name, x = self._name(kind), self._now()
            joined = (
                concat(self.net, name, [x, *others]) if kind == "concat" else add(self.net, name, x, *others)
            )
            self.x = joined
        elif kind == "up":
            self.x = self._enlarged(self._now(), texts[0], linear="n" not in texts)
        else:
            made = _MAKERS.get(kind)
            name, x = self._name(kind), self._now()
            if made:
                self.x = made(self, name, x, *self._arguments(texts))
            else:
                self.x = softmax(self.net, x, name) if kind == "softmax" else self.function(kind, name, x)

    def function(self, kind: str, name: str, x: Value) -> Value:
        """An element-wise function."""
        if kind == "swish":
            return swish(self.net, name, x)
        weights = [self.net.weight(f"{name}.scales", 2 * x.shape[1])] if kind == "batch_norm" else []
        return self.net.elementwise(kind, name, [x], weights=weights)

    def _arguments(self, texts: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The first number, 0 where there is none, and those with letters."""
        letters = {text[0]: self._number(text[1:]) for text in texts if text[0].isalpha()}
        return next((self._number(text) for text in texts if not text[0].isalpha()), 0), letters

    def _number(self, text: str) -> int:
        return sum(int(prod(map(self._factor, term.split("*")))) for term in text.split("+"))

    def _factor(self, text: str) -> float:
        if text.endswith("w"):
            return divisible(int(text[:-1]) * self.width)
        least = {"v": 1, "y": 8}.get(text[-1:])
        return max(least, int(int(text[:-1]) * self.width)) if least else float(text or 1)

    def _enlarged(self, x: Value, text: str, linear: bool) -> Value:
        sizes = [n * int(text) for n in x.shape[2:]] if text.isdigit() else list(self.saved[text].shape[2:])
        shape = (*x.shape[:2], *sizes)
        return self.net.vector(
            "resize", self._name("up"), [x], shape, rows=sizes[0], attributes=Scaling(linear)
        )

    def conv(self, name: str, x: Value, channels: int, given: Mapping[str, int]) -> Value:
        """A convolution."""
        dilation, kernel = given.get("d", 1), given.get("k", 1)
        return self.net.conv(
            name,
            x,
            channels,
            (kernel, given.get("l", kernel)) if len(x.shape) == 4 else kernel,
            stride=given.get("s", 1),
            pad=given["p"]
            if "p" in given
            else dilation * (kernel // 2)
            if dilation > 1
            else 0
            if "u" in given
            else "same",
            dilation=dilation,
            groups=given.get("g", 1),
        )

    def up_conv(self, name: str, x: Value, channels: int, given: Mapping[str, int]) -> Value:
        """A transposed convolution whose kernel is its stride."""
        kernel = given.get("k", 2)
        return self.net.conv(name, x, channels, kernel, stride=kernel, transposed=True)

    def depthwise(self, name: str, x: Value, _: int, given: Mapping[str, int]) -> Value:
        """A depthwise convolution."""
        return self.conv(name, x, x.shape[1], {"k": 3, **given, "g": x.shape[1]})

    def separable(self, name: str, x: Value, channels: int, given: Mapping[str, int]) -> Value:
        """A depthwise and a 1x1 convolution."""
        x = self.depthwise(f"{name}.depthwise", x, 0, given)
        return self.net.conv(f"{name}.pointwise", x, channels, 1)

    def block(self, name: str, x: Value, channels: int, given: Mapping[str, int]) -> Value:
        """Inverted residuals, the first of which has the stride."""
        for index in range(given.get("n", 1)):
            stride, own = given.get("s", 1) if index == 0 else 1, f"{name}.{index}"
            y = (self._fused if "f" in given else self._inverted)(own, x, channels, stride, given)
            x = add(self.net, f"{own}.add", y, x) if self.whole and y.shape == x.shape else y
        return x

    def _inverted(self, own: str, x: Value, channels: int, stride: int, given: Mapping[str, int]) -> Value:
        hidden, kernel = given.get("h", x.shape[1] * given.get("t", 1)), given.get("k", 3)
        y = self.net.conv(f"{own}.expand", x, hidden, 1) if hidden != x.shape[1] else x
        y = self._curved(f"{own}.expand", y, given) if hidden != x.shape[1] else y
        y = depthwise(self.net, f"{own}.depthwise", y, kernel, stride, None if "p" in given else "same")
        y = self._curved(f"{own}.depthwise", y, given)
        if "e" in given:
            y = excited(self.net, own, y, divisible(y.shape[1] / given["e"]))
        if "q" in given:
            middle = max(1, x.shape[1] // 4)
            y = excited(self.net, own, y, middle, swished="b" in given, clipped="z" in given)
        return self.net.conv(f"{own}.project", y, channels, 1)

    def _fused(self, own: str, x: Value, channels: int, stride: int, given: Mapping[str, int]) -> Value:
        hidden = x.shape[1] * given["t"] if "t" in given else channels
        y = self._curved(own, self.net.conv(own, x, hidden, 3, stride=stride, pad="same"), given)
        return self.net.conv(f"{own}.project", y, channels, 1) if "t" in given else y

    def fire(self, name: str, x: Value, channels: int, _: Mapping[str, int]) -> Value:
        """SqueezeNet's fire module."""
        x = self.net.conv(f"{name}.squeeze", x, channels, 1)
        parts = (self.net.conv(f"{name}.expand{k}", x, 4 * channels, k, pad=k // 2) for k in (1, 3))
        return concat(self.net, f"{name}.concat", list(parts))

    def classifier(self, name: str, x: Value, classes: int, _: Mapping[str, int]) -> Value:
        """The end of a network that names classes; ``x`` itself in a chain."""
        return classified(self.net, name, x, classes, self.head) if self.whole else x

    def flat(self, _: str, x: Value, __: int, ___: Mapping[str, int]) -> Value:
        """The image as one row."""
        return self.net.flatten(x)

    def rows(self, _: str, x: Value, __: int, ___: Mapping[str, int]) -> Value:
        """A signal's bytes as rows of channels."""
        return self.net.reshape(x, (1, -1, x.shape[1]))

    def adapted(self, name: str, x: Value, size: int, _: Mapping[str, int]) -> Value:
        """Average pooling to a size."""
        return adaptive_pool(self.net, name, x, size)

    def _curved(self, name: str, x: Value, given: Mapping[str, int]) -> Value:
        """``x`` after a hard swish (``a``) or a swish (``b``), where there is one."""
        if "a" in given:
            return self.net.elementwise("hard_swish", f"{name}.hard_swish", [x])
        return swish(self.net, name, x) if "b" in given else x

    def dense(self, name: str, x: Value, features: int, _: Mapping[str, int]) -> Value:
        """A dense layer of the flattened tensor."""
        return self.net.dense(name, self.net.flatten(x) if len(x.shape) > 2 else x, features)

    def maximum(self, name: str, x: Value, kernel: int, given: Mapping[str, int]) -> Value:
        """The largest of each window, or of the whole image."""
        return self._pool("max_pool", name, x, kernel, given)

    def average(self, name: str, x: Value, kernel: int, given: Mapping[str, int]) -> Value:
        """The mean of each window, or of the whole image."""
        return self._pool("average_pool", name, x, kernel, given)

    def _pool(
        self,
        kind: Literal["max_pool", "average_pool"],
        name: str,
        x: Value,
        kernel: int,
        given: Mapping[str, int],
    ) -> Value:
        if not kernel:
            return self.net.pool(name, x, None, kind=kind)
        kernels, stride = (kernel, given.get("l", kernel)), given.get("s", kernel)
        return self.net.pool(
            name,
            x,
            kernels,
            stride=(stride, min(stride, kernels[1])),
            pad=0 if "u" in given or "c" in given else "same",
            kind=kind,
            ceil="c" in given,
        )

    def shuffle_unit(self, name: str, x: Value, channels: int, given: Mapping[str, int]) -> Value:
        """A stage of ShuffleNet v2, whose first unit halves the image."""
        for index in range(given.get("n", 1)):
            x = unit_v2(self.net, f"{name}.{index}", x, channels // 2, halves=index == 0)
        return x

    def half(self, name: str, x: Value, _: int, given: Mapping[str, int]) -> Value:
        """The second half of the channels."""
        work = x.shape[1] // 2
        return self.net.vector("slice", name, [x], (x.shape[0], work, *x.shape[2:]), rows=x.shape[2])

    def shuffle(self, name: str, x: Value, size: int, _: Mapping[str, int]) -> Value:
        """Channels become blocks of ``size`` x ``size`` pixels."""
        batch, channels, rows, columns = x.shape
        shape = (batch, channels // size**2, rows * size, columns * size)
        return self.net.vector("depth_to_space", name, [x], shape, rows=rows, attributes=PixelBlocks(size))


_MAKERS: Mapping[str, Callable[[LayeredNetwork, str, Value, int, Mapping[str, int]], Value]] = {
    "conv": LayeredNetwork.conv,
    "up-conv": LayeredNetwork.up_conv,
    "dw": LayeredNetwork.depthwise,
    "sep": LayeredNetwork.separable,
    "block": LayeredNetwork.block,
    "fire": LayeredNetwork.fire,
    "head": LayeredNetwork.classifier,
    "flat": LayeredNetwork.flat,
    "rows": LayeredNetwork.rows,
    "to": LayeredNetwork.adapted,
    "dense": LayeredNetwork.dense,
    "max": LayeredNetwork.maximum,
    "avg": LayeredNetwork.average,
    "mean": LayeredNetwork.average,
    "half": LayeredNetwork.half,
    "shuffle": LayeredNetwork.shuffle,
    "units": LayeredNetwork.shuffle_unit,
}


def append(net: ProgramBuilder, layers: str | Mapping[str, str], values: OptionValues) -> None:
    """Append ``layers`` to ``net``, of a mapping those of the option ``variant``."""
    text = layers if isinstance(layers, str) else layers[str(values.get("variant", values.get("version")))]
    network = LayeredNetwork(net, values)
    network.run(list(_words(text.format(**values))))
    network.end()


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text))


def _closing(words: Sequence[str], opening: int) -> int:
    depth = 0
    for position in range(opening, len(words)):
        depth += words[position].endswith("(") - (words[position] == ")")
        if not depth:
            return position
    raise ValueError(f"no closing bracket for {words[opening]!r}")
