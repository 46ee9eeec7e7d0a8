"""Random programs from a seed: trees of small ops, for tests and studies."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from chipmodel.model.program import Node, Program
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


class _ProgramGenerator:
    def __init__(self, random: Random, shape: TreeShape) -> None:
        self.random = random
        self.shape = shape
        self.serial = 0

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

    def block(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """Append ops that read ``values``, and add their outputs to it."""
        for _ in range(self.random.randint(1, self.shape.ops)):
            kind = self.random.random()
            if depth and kind < 0.15:
                self.branch(builder, values, depth - 1)
            elif depth and kind < 0.3:
                self.loop(builder, values, depth - 1)
            else:
                values.append(self.op(builder, values))

    def op(self, builder: ProgramBuilder, values: list[Value]) -> Value:
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

    def branch(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """An ``if`` of two or three arms, one perhaps empty; sometimes all of them define one tensor."""
        name = self.name("if")
        like = self.random.choice(values)
        joined = self.name("joined") if self.random.random() < 0.6 else None
        condition = self.random.choice(values) if self.random.random() < 0.5 else None
        arms: list[tuple[str, list[Node]]] = []
        for index in range(self.random.randint(2, 3)):
            with builder.block() as body:
                inside = list(values)
                if joined is None and self.random.random() < 0.2:
                    pass
                else:
                    self.block(builder, inside, depth)
                if joined:
                    builder.elementwise("copy", self.name("copy"), [like], outputs=[joined])
            arms.append((f"arm{index}", list(body)))
        builder.add_if(name, arms, condition)
        if joined:
            values.append(Value(joined, like.shape, like.dtype))

    def loop(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """A loop that carries one tensor, through explicit copies."""
        name, state = self.name("loop"), self.name("state")
        start = self.random.choice(values)
        carried = builder.elementwise("copy", self.name("copy"), [start], outputs=[state])
        with builder.block() as body:
            inside = [*values, carried]
            self.block(builder, inside, depth)
            after = self.random.choice([v for v in inside if v.shape == carried.shape])
            if after.name == state:
                after = builder.elementwise("relu", self.name("op"), [carried])
            builder.elementwise("copy", self.name("copy"), [after], outputs=[state])
        builder.add_loop(name, self.random.randint(1, 3), body, [state])
        values.append(carried)

    def name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"
