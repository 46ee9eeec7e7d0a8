"""Streamer ``ahead``: each slice of weights is loaded while the one before is read, if it fits.

``ahead:3`` loads it already while the third slice before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chipmodel.plugins import BadInput, StepChain, WeightSlice

title = "each slice during the step that reads the one before; ahead:3 the third before"
source = "chipmodel-example"


@dataclass(frozen=True)
class Ahead:
    """The streamer that loads so many slices ahead."""

    slices: int = 1

    def issue(self, chain: StepChain) -> list[int]:
        """The step at which each load is issued."""
        positions: list[int] = []
        for number, each in enumerate(chain.slices):
            before = chain.slices[max(0, number - self.slices) : number]
            position = before[0].first if number >= self.slices else chain.first
            while position < each.first and not _fits(chain, before, each, position):
                position += 1
            positions.append(position)
        return positions


issue = Ahead().issue


def with_setting(text: str) -> Ahead:
    """What ``ahead:TEXT`` means."""
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"ahead:{text} is not a number of slices", hint="1 or more, as in ahead:3")
    return Ahead(int(text))


def _fits(chain: StepChain, before: Sequence[WeightSlice], each: WeightSlice, position: int) -> bool:
    """Whether every step from ``position`` to the slice's first reader has room for it."""
    for step in range(position, each.first):
        others = sum(other.bytes for other in before if step <= other.last)
        if each.bytes + others > chain.room[step - chain.first]:
            return False
    return True
