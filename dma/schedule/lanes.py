"""Stripe buffers that the parts of an operand pass through in turn."""

from __future__ import annotations

from chipmodel.model.program import Op
from chipmodel.model.schedule import Part
from dma.residency.loaded_rings import LoadedRing


class Lane:
    """The stripe buffers of one operand, used in turn, and what the current one holds."""

    def __init__(self, name: str, depth: int) -> None:
        self.name = name
        self.depth = depth
        self.part: Part | None = None
        self.need = -1
        self.sizes: dict[int, int] = {}
        self.number = -1

    def advance(self, part: Part, size: int) -> int:
        self.part = part
        self.number = (self.number + 1) % self.depth
        if size:
            self.sizes[self.number] = max(size, self.sizes.get(self.number, 0))
        return self.number


class RollingLane:
    """The rolling buffer of one operand, with room for the new rows of ``depth`` stripes."""

    def __init__(self, name: str, ring: LoadedRing, size: int, depth: int) -> None:
        self.name, self.buffer = name, f"{name}.0"
        self.ring, self.bytes, self.depth = ring, ring.bytes(size), depth
        self.part: Part | None = None
        self.begun: list[int] = []
        """The first step of each stripe."""
        self.loads: list[tuple[int, int]] = []
        """The number of each need, and the row after those that it loads."""

    @property
    def stop(self) -> int:
        """The row after all that were loaded."""
        return self.loads[-1][1] if self.loads else 0

    def begin(self, part: Part, step: int) -> int:
        """Begin a stripe that reads ``part``, and return the first step from which its rows may be loaded: no
        step from there on reads those that lie in their places."""
        self.part = part
        self.begun.append(step)
        return self.begun[max(0, len(self.begun) - self.depth)]


class Lanes:
    """The lanes of an op, one for each operand: of one tensor different parts may be needed at once."""

    def __init__(self, op: Op, depth: int) -> None:
        again = [name in op.inputs[:index] for index, name in enumerate(op.inputs)]
        roles = [f"in{index}" if twice else "in" for index, twice in enumerate(again)]
        names = zip(op.inputs, roles, strict=True)
        self.reads = [Lane(f"{op.name}.{role}.{name}", depth) for name, role in names]
        self.writes = {name: Lane(f"{op.name}.out.{name}", depth) for name in op.outputs}
        self.weights = Lane(f"{op.name}.weights", depth)
        self.rolling: RollingLane | None = None
        """The first input's, instead of its lane."""
