"""Random networks on images from a seed, of ops that can run in stripes of rows."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from chipmodel.errors import BadInput
from chipmodel.model.attributes import AxisOrder, Interleaving
from chipmodel.model.program import Program
from tests.support.random_trees import RandomTree
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

_MOVES = ("concat", "split", "resize", "upconv", "whole", "scale", "shuffle", "fork", *("residual",) * 3)
DTYPES = ("int8", "int8", "int8", "int16", "float32")


@dataclass(frozen=True, slots=True)
class ImageShape:
    """Limits of a random network: ops in a body, nesting of control flow, pixels of a side, channels. With
    ``columns`` windows are as wide as high, otherwise one column wide."""

    ops: int = 7
    depth: int = 1
    side: int = 12
    channels: int = 6
    columns: bool = False


def random_images(seed: int, shape: ImageShape = ImageShape()) -> Program:
    """The same seed and shape give the same program."""
    return _ImageGenerator(Random(f"images {seed}"), Random(f"columns {seed}"), shape).program(seed)


class _Across(NamedTuple):
    """The columns of a window."""

    kernel: int = 1
    dilation: int = 1
    stride: int = 1
    left: int = 0
    right: int = 0


class _ImageGenerator(RandomTree):
    least_ops = 2
    branches, loops = 0.12, 0.08

    def __init__(self, random: Random, across: Random, shape: ImageShape) -> None:
        super().__init__(random, shape.ops)
        self.across, self.shape = across, shape

    def program(self, seed: int) -> Program:
        random = self.random
        builder = ProgramBuilder(f"images-{seed}", dtype=random.choice(DTYPES), source=f"from seed {seed}")
        batch = random.choice((1, 1, 1, 2, 3))
        height, width = random.randint(2, self.shape.side), random.randint(1, 6)
        if self.shape.columns:
            width = self.across.randint(2, self.shape.side)
        size = (batch, random.randint(1, self.shape.channels), height, width)
        values = [builder.input(f"x{i}", size) for i in range(random.randint(1, 2))]
        self.block(builder, values, self.shape.depth)
        for value in random.sample(values, random.randint(0, min(2, len(values)))):
            builder.output(value)
        builder.output(values[-1])
        return builder.build()

    def op(self, builder: ProgramBuilder, values: list[Value]) -> tuple[Value, ...]:
        try:
            return self.on_image(builder, values)
        except BadInput:  # a window that does not fit
            return (builder.elementwise("relu", self.name("relu"), [values[-1]]),)

    def on_image(self, builder: ProgramBuilder, values: list[Value]) -> tuple[Value, ...]:
        """One op on one of the latest values, or two."""
        random = self.random
        x = values[-1] if random.random() < 0.7 else random.choice(values[-4:])
        name = self.name("op")
        if random.random() < 0.6:
            return (self.usual(builder, name, x, values),)
        return self.moving(builder, name, x, values)

    def usual(self, builder: ProgramBuilder, name: str, x: Value, values: list[Value]) -> Value:
        """A window over ``x``, or element-wise work."""
        random, (_, channels, height, _) = self.random, x.shape
        twins = [v for v in values if v.shape == x.shape and v.name != x.name]
        match random.choice(("conv", "conv", "depthwise", "point", "pool", "global", "add", "add")):
            case "conv":
                return self.convolution(builder, name, x, random.randint(1, self.shape.channels), 1)
            case "depthwise":
                return self.convolution(builder, name, x, channels, channels)
            case "point":
                stride, across = random.choice((1, 1, 2)), self.across.choice((1, 1, 2))
                strides = stride, across if self.shape.columns else 1
                return builder.conv(name, x, random.randint(1, 6), 1, stride=strides, bias=False)
            case "pool":
                columns = self.columns(x, padded=False)
                kernel = (min(height, random.randint(1, 3)), columns.kernel)
                return builder.pool(name, x, kernel, stride=(random.randint(1, 3), columns.stride))
            case "global":
                return builder.pool(name, x, None)
            case _ if twins:
                return builder.elementwise("add", name, [x, random.choice(twins)])
            case _:
                return builder.elementwise("relu", name, [x])

    def convolution(self, builder: ProgramBuilder, name: str, x: Value, out_c: int, groups: int) -> Value:
        random, height = self.random, x.shape[2]
        kernel, dilation = random.randint(1, 5), random.choice((1, 1, 2))
        reach = dilation * (kernel - 1)
        top = random.choice((reach // 2, (reach + 1) // 2, 0, reach))
        if height + 2 * top <= reach:
            top = reach
        bottom = random.choice((top, 0)) if height + top > reach else top
        columns = self.columns(x)
        stride = (random.choice((1, 1, 1, 2, 3)), columns.stride)
        pads = (top, columns.left, bottom, columns.right)
        return builder.conv(
            name,
            x,
            out_c,
            (kernel, columns.kernel),
            stride=stride,
            dilation=(dilation, columns.dilation),
            pad=pads,
            groups=groups,
        )

    def columns(self, x: Value, padded: bool = True) -> _Across:
        """The columns of a window over ``x``, at most as many as there are where it is not ``padded``."""
        if not self.shape.columns:
            return _Across()
        across, width = self.across, x.shape[3]
        if not padded:
            return _Across(min(width, across.randint(1, 3)), stride=across.randint(1, 3))
        kernel, dilation = across.randint(1, 4), across.choice((1, 1, 2))
        reach = dilation * (kernel - 1)
        left = across.choice((reach // 2, (reach + 1) // 2, 0, reach))
        right = across.choice((reach - left, reach // 2)) if width + left > reach else reach
        return _Across(kernel, dilation, across.choice((1, 1, 1, 2, 3)), left, right)

    def moving(self, builder: ProgramBuilder, name: str, x: Value, values: list[Value]) -> tuple[Value, ...]:
        """Work that joins, cuts or scales, or that needs all of its input."""
        random, (n, channels, height, width) = self.random, x.shape
        match random.choice(_MOVES):
            case "concat":
                mates = [v for v in values if (v.shape[0], *v.shape[2:]) == (n, height, width)]
                other = random.choice(mates)
                shape = (n, channels + other.shape[1], height, width)
                return (builder.vector("concat", name, [x, other], shape, rows=n * height),)
            case "split" if channels > 1:
                first = random.randint(1, channels - 1)
                shapes = [(n, c, height, width) for c in (first, channels - first)]
                names = [f"{name}a", f"{name}b"]
                return builder.vectors("split", name, [x], shapes, rows=n * height, outputs=names)
            case "resize" if height <= self.shape.side:
                times = random.choice((2, 3))
                rows = n * height * random.choice((1, times))
                return (builder.vector("resize", name, [x], (n, channels, height * times, width), rows=rows),)
            case "upconv" if height <= self.shape.side:
                wide = self.across.randint(1, 2) if self.shape.columns and width <= self.shape.side else 1
                sides, out_c = (2, wide), random.randint(1, 4)
                return (builder.conv(name, x, out_c, sides, stride=sides, transposed=True),)
            case "shuffle":
                return (self.shuffle(builder, name, x),)
            case "residual":
                reach = random.randint(1, 2)
                aside = self.across.randint(0, 2) if self.shape.columns else 0
                kernel = (2 * reach + 1, 2 * aside + 1)
                inner = builder.conv(self.name("op"), x, channels, kernel, pad=(reach, aside, reach, aside))
                return (builder.elementwise("add", name, [x, inner]),)
            case "fork":
                return (self.fork(builder, name, x),)
            case "scale":
                small = builder.pool(self.name("op"), x, None)
                return (builder.elementwise("mul", name, [x, small]),)
            case _:
                return (builder.vector("softmax", name, [x], rows=1),)

    def fork(self, builder: ProgramBuilder, name: str, x: Value) -> Value:
        """A sum of two arms from one tensor, of which the one that runs first needs fewer rows of it."""
        start = builder.elementwise("relu", self.name("op"), [x])
        narrow = builder.elementwise("tanh", self.name("op"), [start])
        reach = self.random.randint(1, 2)
        pads = (reach, 0, reach, 0)
        wide = builder.conv(self.name("op"), start, x.shape[1], (2 * reach + 1, 1), pad=pads)
        return builder.elementwise("add", name, [narrow, wide])

    def shuffle(self, builder: ProgramBuilder, name: str, x: Value) -> Value:
        """Channels dealt out in turn, as one op or as a transpose between two reshapes."""
        n, channels, height, width = x.shape
        groups = self.random.choice([each for each in range(1, channels + 1) if channels % each == 0])
        if self.random.random() < 0.5:
            return builder.vector("transpose", name, [x], rows=n * height, attributes=Interleaving(groups))
        split = builder.reshape(x, (n, groups, channels // groups, height, width))
        shape, order = (n, channels // groups, groups, height, width), AxisOrder((0, 2, 1, 3, 4))
        dealt = builder.vector("transpose", name, [split], shape, rows=n * height, attributes=order)
        return builder.reshape(dealt, x.shape)

    def arm_count(self) -> int:
        return 2

    def condition(self, builder: ProgramBuilder, values: list[Value]) -> Value | None:
        condition = self.random.choice(values[-3:]) if self.random.random() < 0.3 else None
        if condition is None and self.random.random() < 0.6:
            # Nothing but the branch and the op before it reads this.
            condition = builder.elementwise("relu", self.name("op"), [values[-1]])
            values.append(builder.elementwise("tanh", self.name("op"), [condition]))
        return condition

    def joined(self) -> str:
        return self.name("joined")

    def join(self, builder: ProgramBuilder, like: Value, inside: list[Value], joined: str) -> None:
        self.finish(builder, like, inside, joined)

    def carry(self, builder: ProgramBuilder, inside: list[Value], carried: Value) -> None:
        self.finish(builder, carried, inside, carried.name)

    def finish(self, builder: ProgramBuilder, like: Value, inside: list[Value], name: str) -> None:
        """Make the tensor ``name`` of the latest value that has the shape of ``like``."""
        latest = [value for value in inside if value.shape == like.shape][-1]
        builder.elementwise("relu", self.name("op"), [latest], outputs=[name])
