"""Loads of tensors and of first stripes, which may come early like weights, for ``exact``.

Such a load may be issued once the tensor's last store before it has been waited for. From there to where it
is due it takes the room of weights; where it is due there is room for it already.
"""

from __future__ import annotations

from dma.emit import Emission, Need
from dma.policy import Issued, Room


class Early:
    """Of the decisions ``issued``: ``fixed`` ones, and ``needs`` of which the position is open."""

    def __init__(self, room: Room, emission: Emission, issued: list[Issued]) -> None:
        self.program = room.program
        self.stored: dict[str, list[int]] = {}
        for decision in issued:
            if decision.need.direction == "store":
                self.stored.setdefault(decision.need.part.name, []).append(decision.due)
        first_stripes = _first_stripes(emission)
        self.needs: list[Need] = []
        self.fixed: list[Issued] = []
        for decision in issued:
            need = decision.need
            free = need.kind == "tensor" or need.first == first_stripes.get(need.lane)
            if need.direction == "load" and free and self._straight(emission, need):
                self.needs.append(need)
            else:
                self.fixed.append(decision)

    def since(self, need: Need, first: int) -> int:
        """The first position, of those from ``first`` on, at which the load may be issued."""
        if need.kind == "weights":
            return first
        before = [due for due in self.stored.get(need.part.name, ()) if due < need.first]
        return max(first, max(before, default=-1) + 1)

    def _straight(self, emission: Emission, need: Need) -> bool:
        """Whether nothing but this core makes the tensor."""
        return need.part.name not in self.program.arrivals


def _first_stripes(emission: Emission) -> dict[str, int]:
    """The step that each lane of loaded stripes begins with."""
    firsts: dict[str, int] = {}
    for need in emission.needs:
        if need.kind == "stripe" and need.direction == "load":
            firsts.setdefault(need.lane, need.first)
    return firsts
