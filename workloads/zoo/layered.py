"""Networks whose layers are written in the catalogue (``layers`` in networks/*.yaml), one word a layer.

A word is a kind, then after a colon what the kind takes: channels, kernel ``k``, stride ``s``, dilation
``d``, groups ``g``, repeats ``n``, expansion ``t``, padding ``p`` on each side, ``u`` for none; by default it
is "same". ``{option}`` is an option's value; ``+``, ``-``, ``*`` and ``/`` calculate, ``|`` takes the larger,
``&`` the smaller, ``#`` are the channels so far, ``%`` all numbers of the tensor. Channels that end in ``w``
are scaled by the option ``width`` and rounded as MobileNet v2's code rounds them, in ``v`` rounded down, in
``y`` too but to no fewer than 8, in ``x`` up to a multiple of 8; a number that ends in ``d`` is scaled by
``depth``. Where a network has variants, each has its words, or ``given`` says what a name stands for at which
options; a ``note`` there is the program's.

``name=word`` names a layer, and its output for ``from``, ``add`` and ``concat``; others are named by their
kind and number. ``name=basic:64,1`` stands for the words that the network's ``blocks`` have for ``basic``,
with 64 in the place of ``{0}``; their names follow that of the block and a dot, and ``in`` is its input.
Without a name before the ``=`` they are as if written in its place. A network's ``words`` are a module here
with further words, which ``WORDS`` lists; ``uses`` is a network whose blocks it has as well.

==============================  ==========================================================================
``input:1,49,10``               the input: channels, rows, columns (by default a square image of 3 channels)
``given:int32,20,1``            an input of this type and shape; ``given:,20,1`` has the network's type
``conv:16,k3,s2``               a convolution, by default 1x1, of the whole image with ``k0``; ``dw:k3`` a
                                depthwise one; ``sep:16`` both; ``b0`` has no bias, ``p1011`` pads each side
                                by its own, ``x1`` is the stride along rows where it is another, ``m24`` is
                                1x1 to 24, then as given, then 1x1
``match:a``                     a 1x1 convolution to the shape of ``a``, nothing where it has that
``up-conv:16,k2,s2``            a transposed convolution
``max:3,s2`` ``avg:2`` ``mean`` pooling; by default the stride is the kernel, and ``mean`` is of all the
                                image; ``c`` rounds sizes up
``to:7``                        pooling to 7 x 7, as PyTorch's AdaptiveAvgPool2d
``block:24,t6,k5,s2,n3,e4,a``   inverted residuals (MobileNet v2), ``a`` with hard swishes, ``b`` swishes;
                                ``f`` with a whole convolution in place of the first two; ``e4`` with squeeze
                                and excitation by a quarter of the channels inside, ``q`` of those before,
                                ``z`` with a clip before the gate; ``p`` pads by half of the kernel
``excite:8``                    squeeze and excitation by 8 numbers
``half`` ``shuffle:2``          the second half of the channels; channels as blocks of 2 x 2 pixels
``cast:int16`` ``lrn`` ``sum``  another type, by default the network's; a local response normalisation;
                                the sum of a row
``split:2`` ``interleave:2``    two parts of the channels, the last goes on; the order of two groups mixed
``cut:3,a,2,b,8``               parts along axis 3: ``a`` of size 2 and ``b`` of size 8
``widen:64``                    zero channels, up to 64
``dense:10`` ``softmax`` ...    a dense layer, of the flattened image; element-wise functions by their names
``head:10``                     the mean, a dense layer, and what the option ``head`` says; nothing where the
                                option ``body`` is ``chain``, which also leaves out additions in blocks
``flat`` ``rows:4`` ``turn``    the image as one row, or rows of 4, by default of as many as channels; an
                                image with the channels of a pixel side by side
``shape:1,#,0``                 the same bytes in another shape; the size 0 follows from the others
``save:a`` ``from:a``           names the tensor so far, or goes on from it
``add:a`` ``concat:a,b``        joins the tensor so far with others, ``concat2`` along axis 2; ``mul``
                                multiplies, ``skip:a`` adds where shapes agree; ``plus``, ``less`` and
                                ``largest`` add, subtract and compare in any shape
``with:sub,a,1``                an element-wise function of the tensor so far and of one weight, ``a``
``up:2`` ``up:a``               enlarges the image: twice, or to the size of ``a``; ``n`` repeats pixels
``add( ... )``                  a residual: the sum of what is inside and of its input, which a
                                convolution projects where the shapes differ
``3*( ... )``                   three times; ``m@=times:3,basic,64`` is the block ``basic:64`` three times,
                                called ``m0`` to ``m2``, and ``times:1..3`` without the first; ``@`` is
                                the number in what the block takes as well
``b=if:y,run=1/2( run( ... )``  a branch of so many arms, with their probabilities, which the tensor so far
``skip( ... ) )``               decides; the last tensor of each arm becomes ``y``, or ``run.a`` becomes
                                ``a`` and ``run.b`` ``b`` with ``if:a+b``
``b=loop:20,x+y( ... )``        a loop of 20 iterations that carries ``x`` and ``y``; ``20,x+y,lengths`` where
                                a run may have fewer, as of sentences
``call:a``                      the tensor so far is called ``a``, not as the layer that made it
``out``                         an output; the last tensor is one anyway
==============================  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from math import ceil, prod
from typing import Any

from chipmodel.model.attributes import ResizeMode, Scaling
from chipmodel.model.program import Node
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value
from workloads.zoo import catalogue
from workloads.zoo.layer_words import JOINS, SIZED, WINDOWED, Letters, cast, function, matched
from workloads.zoo.layers import add, classified, divisible

OptionValues = Mapping[str, int | float | str]
Words = Mapping[str, Callable[["LayeredNetwork", str, Sequence[str]], Value]]
"""Layers of one network or of its kind, by their words: (network, name of the layer, what the word takes)."""
_WORD = re.compile(r"[^\s()]*\(|\)|[^\s()]+")


class LayeredNetwork:
    """A network under construction: the tensor so far, and those that have names."""

    def __init__(
        self, net: ProgramBuilder, values: OptionValues, blocks: Mapping[str, str], words: Words
    ) -> None:
        self.net = net
        net.whole_swish = values.get("outputs") == "raw"
        self.words = words
        self.width, self.depth = float(values.get("width", 1)), float(values.get("depth", 1))
        self.saved: dict[str, Value] = {}
        self.x: Value | None = None
        self.values = values
        self.blocks = blocks
        self.scopes = [""]
        self.size = int(values.get("input", 0))
        self.head = str(values.get("head", "logits"))
        self.whole = values.get("body") != "chain"
        self.made = 0

    def run(self, text: str, *arguments: str) -> None:
        """Append the layers of ``text``, with the ``arguments`` of a block and options in their places."""
        self._append(_WORD.findall(text.format(*arguments, **self.values)))

    def _append(self, words: Sequence[str]) -> None:
        position = 0
        while position < len(words):
            word = words[position]
            if word.endswith("("):
                end = _closing(words, position)
                inner = words[position + 1 : end]
                self._group(word[:-1], inner)
                position = end
            else:
                name, named, layer = word.rpartition("=")
                kind, _, text = layer.partition(":")
                full = (self.scopes[-1] + name).rstrip(".") if named else None
                self._layer(kind, text.split(",") if text else [], full)
                if full is not None:
                    self.saved[full] = self.now
            position += 1

    def _group(self, kind: str, inner: Sequence[str]) -> None:
        """Append what is between brackets behind ``kind``."""
        if kind == "add":
            self._residual(inner)
        elif "=if:" in kind:
            self._branch(kind, inner)
        elif "=loop:" in kind:
            self._loop(kind, inner)
        else:
            for _ in range(int(kind[:-1])):
                self._append(inner)

    def _branch(self, kind: str, inner: Sequence[str]) -> None:
        """Append an ``if``, which the tensor so far decides; the last tensor of each arm is its result."""
        name, _, given = kind.partition("=if:")
        listed, *chances = given.split(",")
        results, start = listed.split("+"), 0
        condition, arms = self.now, list[tuple[str, list[Node]]]()
        while start < len(inner):
            end, arm = _closing(inner, start), inner[start][:-1]
            with self.net.block() as body:
                self._append(inner[start + 1 : end])
            for result in results:
                made = self.now if len(results) == 1 else self.called(f"{arm}.{result}")
                self.x = self._result(body, made, result)
            arms.append((arm, body))
            start = end + 1
        likely = {arm: Fraction(chance) for arm, _, chance in (each.partition("=") for each in chances)}
        self.net.add_if(self.scopes[-1] + name, arms, condition, likely)

    def _loop(self, kind: str, inner: Sequence[str]) -> None:
        """Append a loop; with ``lengths``, each number of iterations has its probability."""
        name, _, given = kind.partition("=loop:")
        most, carried, *chances = given.split(",")
        with self.net.block() as body:
            self._append(inner)
        iterations = self.number(most)
        likely = lengths(iterations) if chances else ()
        self.net.add_loop(self.scopes[-1] + name, iterations, body, carried.split("+"), likely)

    def _result(self, body: list[Node], made: Value, name: str) -> Value:
        """What an arm has made, under the name that it has after the branch."""
        full = self.scopes[-1] + name
        if made.name != full:
            self.net.rename(body, made.name, full)
        self.saved[full] = Value(full, made.shape, made.dtype)
        return self.saved[full]

    @property
    def now(self) -> Value:
        """The tensor so far, at first an image of three channels."""
        if self.x is None:
            self.x = self.net.input("input", (1, 3, self.size, self.size))
        return self.x

    def _name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def called(self, name: str) -> Value:
        """The tensor of that name in the innermost block that has one."""
        return next(self.saved[s + name] for s in reversed(self.scopes) if s + name in self.saved)

    def _block(self, name: str, words: str, texts: Sequence[str]) -> None:
        scope = f"{name}." if name else ""
        if scope != self.scopes[-1]:
            self.saved[f"{scope}in"] = self.now
        self.scopes.append(scope)
        given = [str(self.number(text)) if text[0] in "#0123456789" else text for text in texts]
        self.run(words, *given)
        self.scopes.pop()

    def _residual(self, inner: Sequence[str]) -> None:
        before = self.now
        self._append(inner)
        after = self.now
        name = self._name("add")
        self.x = add(self.net, name, after, matched(self.net, f"{name}.project", before, [after]))

    def _layer(self, kind: str, texts: Sequence[str], name: str | None) -> None:
        if kind == "input":
            self.x = self.net.input(name or "input", (1, *map(self.number, texts)))
        elif kind == "given":
            self.x = self.net.input(name or kind, [*map(self.number, texts[1:])], texts[0] or None)
        elif kind == "save":
            self.saved[self.scopes[-1] + texts[0]] = self.now
        elif kind == "from":
            self.x = self.called(texts[0])
        elif kind == "out":
            self.net.output(self.now)
        elif kind == "call":
            self.x = self.net.renamed(self.now, self.scopes[-1] + texts[0])
        else:
            self._make(kind, texts, self._name(kind) if name is None else name)

    def _make(self, kind: str, texts: Sequence[str], name: str) -> None:
        x = self.now
        if kind in self.blocks:
            self._block(name, self.blocks[kind], texts)
        elif kind == "times":
            for index in range(*map(self.number, texts[0].split(".."))):
                own, *given = (text.replace("@", str(index)) for text in (name, *texts[2:]))
                self._block(own, self.blocks[texts[1]], given)
        elif kind in self.words:
            self.x = self.words[kind](self, name, texts)
        elif kind in JOINS:
            self.x = JOINS[kind](self.net, name, x, [self.called(text) for text in texts])
        elif kind == "cast":
            self.x = cast(self.net, name, x, texts[0] if texts else self.net.dtype)
        elif kind == "split":
            number = self.number(texts[0])
            self.x = self._cut(name, x, 1, {f"{name}.{i}": x.shape[1] // number for i in range(number)})
        elif kind == "cut":
            names = [self.scopes[-1] + text for text in texts[1::2]]
            self.x = self._cut(
                name, x, int(texts[0]), dict(zip(names, map(self.number, texts[2::2]), strict=True))
            )
        elif kind == "shape":
            self.x = self.net.reshape(x, [self.number(text) or -1 for text in texts])
        elif kind == "with":
            function_of, constant, size = texts
            weight = self.net.weight(self.scopes[-1] + constant, self.number(size))
            self.x = self.net.elementwise(function_of, name, [x], weights=[weight])
        elif kind == "up":
            self.x = self._enlarged(name, x, texts[0], "nearest" if "n" in texts else "linear")
        else:
            self.x = self._layer_of(kind, name, x, *self._arguments(texts))

    def _layer_of(self, kind: str, name: str, x: Value, number: int, letters: Letters) -> Value:
        if kind in WINDOWED:
            return WINDOWED[kind](
                self.net, name, x, number, letters if self.whole else {**letters, "chain": 1}
            )
        if kind in SIZED:
            return SIZED[kind](self.net, name, x, number)
        if kind == "head":
            return (
                classified(self.net, name, x, number, self.head, bias="b" not in letters) if self.whole else x
            )
        return function(self.net, kind, name, x)

    def _cut(self, name: str, x: Value, axis: int, sizes: Mapping[str, int]) -> Value:
        parts = self.net.split(name, x, [*sizes.values()], axis, [*sizes])
        self.saved.update((part.name, part) for part in parts)
        return parts[-1]

    def _arguments(self, texts: Sequence[str]) -> tuple[int, dict[str, int]]:
        """The first number, 0 where there is none, and those with letters."""
        letters = {text[0]: self.number(text[1:]) for text in texts if text[0].isalpha()}
        return next((self.number(text) for text in texts if not text[0].isalpha()), 0), letters

    def number(self, text: str) -> int:
        """The number that a text calculates."""
        return max(min(map(self._sum, terms.split("&"))) for terms in text.split("|"))

    def _sum(self, text: str) -> int:
        return sum(map(self._product, text.replace("-", "+-1*").split("+")))

    def _product(self, text: str) -> int:
        above, _, below = text.partition("/")
        return int(prod(map(self._factor, above.split("*"))) // int(below or 1))

    def _factor(self, text: str) -> float:
        if text in ("#", "%"):
            return self.now.shape[1] if text == "#" else self.now.elements
        if text.endswith("d"):
            return max(round(int(text[:-1]) * self.depth), 1)
        if text.endswith("x"):
            return ceil(int(text[:-1]) * self.width / 8) * 8
        if text.endswith("w"):
            return divisible(int(text[:-1]) * self.width)
        least = {"v": 1, "y": 8}.get(text[-1:])
        return max(least, int(int(text[:-1]) * self.width)) if least else float(text or 1)

    def _enlarged(self, name: str, x: Value, text: str, mode: ResizeMode) -> Value:
        sizes = [n * int(text) for n in x.shape[2:]] if text.isdigit() else list(self.called(text).shape[2:])
        shape = (*x.shape[:2], *sizes)
        return self.net.vector("resize", name, [x], shape, rows=sizes[0], attributes=Scaling(mode))


def lengths(most: int) -> tuple[tuple[int, Fraction], ...]:
    """Lengths of a sentence with their probabilities (assumed): half of ``most`` words with probability 1/2,
    three quarters with 1/4, all with 1/4. Empty where these are equal."""
    chances: dict[int, Fraction] = {}
    for quarters, share in ((2, Fraction(1, 2)), (3, Fraction(1, 4)), (4, Fraction(1, 4))):
        words = -(-most * quarters // 4)
        chances[words] = chances.get(words, Fraction(0)) + share
    return tuple(chances.items()) if len(chances) > 1 else ()


def append(net: ProgramBuilder, entry: Mapping[str, Any], values: OptionValues) -> None:
    """Append the ``layers`` of a network, where they are a mapping those of the option ``variant``."""
    layers = entry["layers"]
    text = layers if isinstance(layers, str) else layers[str(values.get("variant", values.get("version")))]
    network = _network(net, entry, values)
    network.run(text)
    net.output(network.now)


def _network(net: ProgramBuilder, entry: Mapping[str, Any], values: OptionValues) -> LayeredNetwork:
    given = dict(values)
    for condition, names in entry.get("given", {}).items():
        if all(str(given[option]) == value for option, value in re.findall(r"(\S+)=(\S+)", condition)):
            given.update(names)
    if "note" in given:
        net.notes.append(str(given["note"]))
    words: Words = import_module(f"workloads.zoo.{entry['words']}").WORDS if "words" in entry else {}
    shared: Mapping[str, str] = (
        catalogue.entry(*entry["uses"].split("."))["blocks"] if "uses" in entry else {}
    )
    return LayeredNetwork(net, given, {**shared, **entry.get("blocks", {})}, words)


def _closing(words: Sequence[str], opening: int) -> int:
    depth = 0
    for position in range(opening, len(words)):
        depth += words[position].endswith("(") - (words[position] == ")")
        if not depth:
            return position
    raise ValueError(f"no closing bracket for {words[opening]!r}")
