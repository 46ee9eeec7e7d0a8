"""Loads of tensors and of first stripes, which may come early like weights, for ``exact``.

Such a load may be issued once every store before it of bytes that it brings has been waited for. From there
to where it is due it takes the room of weights; where it is due there is room for it already. And the store
of an op's last stripe need not be waited for at once: it goes on beside the next step where there is room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chipmodel.model.work import Share
from dma.schedule.policy import Issued, Room
from dma.schedule.steps import Emission, Need


class Early:
    """Of the decisions ``issued``: ``fixed`` ones, and ``needs`` of which the position is open. ``take`` asks
    for bytes at a position, and says whether they were free."""

    def __init__(
        self, room: Room, emission: Emission, issued: list[Issued], take: Callable[[int, int], bool]
    ) -> None:
        self.program, self.emission, self.take = room.program, emission, take
        firsts = _first_stripes(emission)
        self.needs = [d.need for d in issued if self._free(d.need, firsts)]
        free = {id(need) for need in self.needs}
        self.fixed = [d for d in issued if id(d.need) not in free]
        self.loads: dict[str, list[tuple[int, Need]]] = {}
        for decision in issued:
            if decision.need.direction == "load" and not decision.need.part.weights:
                at = decision.need.first if id(decision.need) in free else decision.issue
                self.loads.setdefault(decision.need.part.name, []).append((at, decision.need))
        self.fixed = [self._put_off(decision) for decision in self.fixed]
        self.stores: dict[str, list[Issued]] = {}
        for decision in self.fixed:
            if decision.need.direction == "store":
                self.stores.setdefault(decision.need.part.name, []).append(decision)

    def since(self, need: Need, first: int) -> int:
        """The first position, of those from ``first`` on, at which the load may be issued."""
        if need.kind == "weights":
            return first
        before = (
            store.due
            for store in self.stores.get(need.part.name, ())
            if store.need.first < need.first and _meet(store.need.part.share, need.part.share)
        )
        return max(first, max(before, default=-1) + 1)

    def _free(self, need: Need, firsts: dict[str, int]) -> bool:
        """Whether a load is of a whole tensor or the first of a lane, and nobody else makes the tensor."""
        early = need.kind == "tensor" or need.first == firsts.get(need.lane)
        return need.direction == "load" and early and need.part.name not in self.program.arrivals

    def _put_off(self, decision: Issued) -> Issued:
        need, after = decision.need, decision.need.last + 1
        if need.direction != "store" or need.kind != "stripe" or decision.due > need.last:
            return decision
        stretch = self.emission.stretch
        if after >= len(stretch) or stretch[after] != stretch[need.last]:
            return decision
        read = any(
            need.last < at <= after and _meet(need.part.share, load.part.share)
            for at, load in self.loads.get(need.part.name, ())
        )
        size = self.emission.buffers[need.buffer].bytes
        if read or self._reused(need) or not self.take(after, size):
            return decision
        return replace(decision, due=after)

    def _reused(self, need: Need) -> bool:
        """Whether a later stripe is made in the same buffer at the next step."""
        return any(
            other.buffer == need.buffer and other.first == need.last + 1 for other in self.emission.needs
        )


def _meet(a: Share, b: Share) -> bool:
    """Whether the shares may have bytes in common; those that are cut in other rows always may."""
    if a.of_rows != b.of_rows:
        return True
    rows = max(a.rows.start, b.rows.start) < min(a.rows.stop, b.rows.stop)
    if a.of_channels != b.of_channels:
        return rows
    return rows and max(a.channels.start, b.channels.start) < min(a.channels.stop, b.channels.stop)


def _first_stripes(emission: Emission) -> dict[str, int]:
    """The step that each lane of loaded stripes begins with."""
    firsts: dict[str, int] = {}
    for need in emission.needs:
        if need.kind == "stripe" and need.direction == "load":
            firsts.setdefault(need.lane, need.first)
    return firsts
