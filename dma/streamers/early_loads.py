"""Loads of tensors and of first stripes that may be issued early, like weights, for ``exact``.

Such a load may be issued once every earlier store of bytes that it brings has been waited for. From there to
where it is due it takes memory of weights; where it is due there is room for it already. And the store
of an op's last stripe need not be waited for at once: it runs during the next step where its bytes are free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chipmodel.geometry.share import Share
from dma.schedule.steps import Emission, TransferNeed
from dma.schedule.streamer import IssuedTransfer, MemoryBudget


class EarlyLoads:
    """Splits the transfers ``issued`` into ``fixed`` ones, and ``needs`` whose position is still open.

    ``take`` takes bytes at a position, and returns whether they were free.
    """

    def __init__(
        self,
        memory: MemoryBudget,
        emission: Emission,
        issued: list[IssuedTransfer],
        take: Callable[[int, int], bool],
    ) -> None:
        self.program, self.emission, self.take = memory.program, emission, take
        firsts = _first_stripes(emission)
        self.needs = [transfer.need for transfer in issued if self._is_open(transfer.need, firsts)]
        still_open = {id(need) for need in self.needs}
        self.fixed = [transfer for transfer in issued if id(transfer.need) not in still_open]
        self.loads: dict[tuple[str, int], list[TransferNeed]] = {}
        for transfer in issued:
            need = transfer.need
            if need.direction == "load" and not need.part.weights:
                at = need.first if id(need) in still_open else transfer.issue
                self.loads.setdefault((need.part.name, at), []).append(need)
        self.begun = {(need.buffer, need.first) for need in emission.needs}
        self.fixed = [self._put_off(transfer) for transfer in self.fixed]
        self.stores: dict[str, list[IssuedTransfer]] = {}
        for transfer in self.fixed:
            if transfer.need.direction == "store":
                self.stores.setdefault(transfer.need.part.name, []).append(transfer)

    def since(self, need: TransferNeed, first: int) -> int:
        """The first position, from ``first`` on, at which the load may be issued."""
        if need.part.weights:
            return first
        before = (
            store.due
            for store in self.stores.get(need.part.name, ())
            if store.need.first < need.first and _overlap(store.need.part.share, need.part.share)
        )
        return max(first, max(before, default=-1) + 1)

    def _is_open(self, need: TransferNeed, firsts: dict[str, int]) -> bool:
        """Whether it loads a whole tensor or the first stripe of a lane, of a tensor made on this core."""
        early = need.kind == "tensor" or need.first == firsts.get(need.lane)
        return need.direction == "load" and early and need.part.name not in self.program.arrivals

    def _put_off(self, transfer: IssuedTransfer) -> IssuedTransfer:
        """Wait for the store of a last stripe one step later, where that is allowed and its bytes are
        free."""
        need, after = transfer.need, transfer.need.last + 1
        if need.direction != "store" or need.kind != "stripe" or transfer.due > need.last:
            return transfer
        chain = self.emission.straight_chain
        if after >= len(chain) or chain[after] != chain[need.last]:
            return transfer
        loads = self.loads.get((need.part.name, after), ())
        read = any(_overlap(need.part.share, load.part.share) for load in loads)
        reused = (need.buffer, after) in self.begun
        if read or reused or not self.take(after, self.emission.buffers[need.buffer].bytes):
            return transfer
        return replace(transfer, due=after)


def _overlap(a: Share, b: Share) -> bool:
    """Whether the shares may have bytes in common; shares cut into other numbers of rows always may."""
    if a.of_rows != b.of_rows:
        return True
    rows = max(a.rows.start, b.rows.start) < min(a.rows.stop, b.rows.stop)
    if a.of_channels != b.of_channels:
        return rows
    return rows and max(a.channels.start, b.channels.start) < min(a.channels.stop, b.channels.stop)


def _first_stripes(emission: Emission) -> dict[str, int]:
    """The first step of each lane of loaded stripes."""
    firsts: dict[str, int] = {}
    for need in emission.needs:
        if need.kind == "stripe" and need.direction == "load":
            firsts.setdefault(need.lane, need.first)
    return firsts
