"""Stripe buffers that the parts of an operand pass through in turn."""

from __future__ import annotations

from chipmodel.geometry.interval import Interval
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
        self.new = dict(ring.new)
        self.stripe: Interval | None = None
        self.ends: list[int] = []
        """The first step of all, and for each stripe the one after the last that has read its rows."""
        self.loads: list[tuple[int, int]] = []
        """The number of each need, and the row after those that it loads."""

    def read(self, stripe: Interval, step: int) -> Interval:
        """Let a step read rows of a stripe; return those that are new to it."""
        begins = stripe != self.stripe
        if begins:
            self.stripe = stripe
            self.ends += [step] if self.ends else [step, step]
        self.ends[-1] = step + 1
        return self.new[stripe] if begins else Interval(0, 0)

    @property
    def earliest(self) -> int:
        """The first step from which the stripe's rows may be loaded: none from there on reads those that lie
        in their places."""
        return self.ends[max(0, len(self.ends) - 1 - self.depth)]


class Lanes:
    """The lanes of an op, one for each operand: of one tensor different parts may be needed at once."""

    def __init__(self, op: Op, depth: int) -> None:
        again = [name in op.inputs[:index] for index, name in enumerate(op.inputs)]
        roles = [f"in{index}" if twice else "in" for index, twice in enumerate(again)]
        names = zip(op.inputs, roles, strict=True)
        self.reads = [Lane(f"{op.name}.{role}.{name}", depth) for name, role in names]
        self.writes = {name: Lane(f"{op.name}.out.{name}", depth) for name in op.outputs}
        self.weights = Lane(f"{op.name}.weights", depth)
        self.rolling: dict[int, RollingLane] = {}
        """Those of inputs by number, instead of their lanes."""
