"""Trees of random ops: straight chains, branches and loops in one another."""

from abc import ABC, abstractmethod
from random import Random

from chipmodel.model.program import Body, Node
from chipmodel.model.tree import bodies
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


class RandomTree(ABC):
    """Draws the nodes of a random program; which ops there are is decided by its subclasses."""

    least_ops = 1
    """Nodes in a block at least."""
    branches, loops = 0.15, 0.15
    """Shares of nodes that are branches, and that are loops, where these may be nested deeper."""
    empty_arms = 0.2
    """Share of arms that do nothing, in branches whose arms define no tensor."""

    def __init__(self, random: Random, most_ops: int) -> None:
        self.random, self.most_ops, self.serial = random, most_ops, 0

    @abstractmethod
    def op(self, builder: ProgramBuilder, values: list[Value]) -> tuple[Value, ...]:
        """What a new op, or a few, make of ``values``."""

    @abstractmethod
    def arm_count(self) -> int:
        """How many arms a branch has."""

    def condition(self, builder: ProgramBuilder, values: list[Value]) -> Value | None:
        """What decides a branch, if not something outside of the program."""
        return self.random.choice(values) if self.random.random() < 0.5 else None

    @abstractmethod
    def joined(self) -> str | None:
        """The tensor that all arms of a branch define, if any."""

    def join(self, builder: ProgramBuilder, like: Value, inside: list[Value], joined: str) -> None:
        """Define ``joined``, of the shape of ``like``, at the end of an arm with the values ``inside``."""
        builder.elementwise("copy", self.name("copy"), [like], outputs=[joined])

    def carry(self, builder: ProgramBuilder, inside: list[Value], carried: Value) -> None:
        """Define ``carried`` again at the end of a loop's body with the values ``inside``, by a copy."""
        alike = [v for v in inside if (v.shape, v.dtype) == (carried.shape, carried.dtype)]
        after = self.random.choice(alike)
        if after.name == carried.name:
            after = builder.elementwise("relu", self.name("op"), [carried])
        builder.elementwise("copy", self.name("copy"), [after], outputs=[carried.name])

    def block(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """Append nodes that read ``values``, and add their outputs to it."""
        for _ in range(self.random.randint(self.least_ops, self.most_ops)):
            kind = self.random.random()
            if depth and kind < self.branches:
                self.branch(builder, values, depth - 1)
            elif depth and kind < self.branches + self.loops:
                self.loop(builder, values, depth - 1)
            else:
                values += self.op(builder, values)

    def branch(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """An ``if``, all of whose arms may define one tensor."""
        name, like, joined = self.name("if"), self.random.choice(values), self.joined()
        condition = self.condition(builder, values)
        arms: list[tuple[str, list[Node]]] = []
        for index in range(self.arm_count()):
            with builder.block() as body:
                inside = list(values)
                if joined is not None or self.random.random() >= self.empty_arms:
                    self.block(builder, inside, depth)
                if joined is not None:
                    self.join(builder, like, inside, joined)
            arms.append((f"arm{index}", list(body)))
        builder.add_if(name, arms, condition)
        if joined is not None:
            values.append(Value(joined, like.shape, like.dtype))

    def loop(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """A loop that carries one tensor."""
        name, state = self.name("loop"), self.name("state")
        start = self.random.choice(values)
        carried = builder.elementwise("copy", self.name("copy"), [start], outputs=[state])
        with builder.block() as body:
            inside = [*values, carried]
            self.block(builder, inside, depth)
            self.carry(builder, inside, carried)
        builder.add_loop(name, self.random.randint(1, 3), body, [state])
        values.append(carried)

    def name(self, prefix: str) -> str:
        """A name that no other node has."""
        self.serial += 1
        return f"{prefix}{self.serial}"


def depth(body: Body) -> int:
    """How deep branches and loops are in one another."""
    return max((1 + depth(inner) for node in body for inner in bodies(node)), default=0)
