"""Random programs from a seed: trees of small ops."""

from dataclasses import dataclass
from random import Random

from chipmodel.model.program import Program
from tests.support.random_trees import RandomTree
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Limits of a random program: ops in a block, nesting of control flow, pixels of a side, channels."""

    ops: int = 6
    depth: int = 1
    side: int = 6
    channels: int = 8


def random_program(seed: int, shape: TreeShape = TreeShape()) -> Program:
    """The same seed and shape give the same program; every program is valid."""
    return _ProgramGenerator(Random(seed), shape).program(seed)


class _ProgramGenerator(RandomTree):
    def __init__(self, random: Random, shape: TreeShape) -> None:
        super().__init__(random, shape.ops)
        self.shape = shape

    def program(self, seed: int) -> Program:
        builder = ProgramBuilder(f"random-{seed}", source=f"generated from seed {seed}")
        side = self.random.randint(1, self.shape.side)
        channels = self.random.randint(1, self.shape.channels)
        values = [builder.input(f"x{i}", (1, channels, side, side)) for i in range(self.random.randint(1, 2))]
        self.block(builder, values, self.shape.depth)
        for value in self.random.sample(values, min(len(values), self.random.randint(1, 3))):
            builder.output(value)
        builder.output(values[-1])
        return builder.build()

    def op(self, builder: ProgramBuilder, values: list[Value]) -> tuple[Value, ...]:
        return (self.single(builder, values),)

    def single(self, builder: ProgramBuilder, values: list[Value]) -> Value:
        """One op on one of the latest values."""
        name = self.name("op")
        x = self.random.choice(values[-4:]) if self.random.random() < 0.8 else self.random.choice(values)
        twin = [v for v in values if v.shape == x.shape]
        match self.random.randrange(7):
            case 0:
                return builder.conv(name, x, self.random.randint(1, self.shape.channels), 3, pad=1)
            case 1:
                groups = x.shape[1]
                return builder.conv(
                    name, x, groups, 3, pad=1, groups=groups, stride=self.random.randint(1, 2)
                )
            case 2:
                return builder.conv(name, x, self.random.randint(1, self.shape.channels), 1, bias=False)
            case 3 if min(x.shape[2:]) > 1:
                return builder.pool(name, x, 2, stride=self.random.randint(1, 2))
            case 4:
                return builder.elementwise("add", name, [x, self.random.choice(twin)])
            case 5:
                return builder.dense(name, x, self.random.randint(1, 8))
            case _:
                return builder.elementwise("relu", name, [x])

    def arm_count(self) -> int:
        return self.random.randint(2, 3)

    def joined(self) -> str | None:
        return self.name("joined") if self.random.random() < 0.6 else None
