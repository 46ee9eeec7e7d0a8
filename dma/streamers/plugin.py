"""Streamers that are plug-ins: they decide when each slice of weights is loaded.

A plug-in is given one straight chain of steps after another, with the cycles of every step and load and the
bytes that are free, and answers where each load is issued. What stays in SharedMemory, how weights are cut
and when tensors move is decided as for ``prefetch-greedy``, which tries several sizes of slices; the plan
with the fastest forecast that fits is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import Protocol

from chipmodel.entry_points import DescribedPlugin, Plugin
from dma.schedule.operands import Emission
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, StreamerPortfolio
from dma.streamers.prefetch_greedy import by_slice_limits
from dma.streamers.weight_pipeline import Room, issued_weights
from dma.streamers.weight_region import StepChain


class StreamerPlugin(DescribedPlugin, Protocol):
    """A streamer of weights."""

    def issue(self, chain: StepChain) -> Sequence[int]:
        """For each of ``chain.slices`` the step at which its load is issued: ``chain.first`` at the earliest,
        at the latest the slice's ``first`` reader, which waits for it. From that step to its ``last`` reader
        the slice takes memory: of steps before its first reader, ``chain.room`` says how much is free. A plan
        that takes more is tried again with less room, and refused if it still does not fit."""
        ...


@cache
def portfolio_of(plugin: Plugin) -> StreamerPortfolio:
    """Return the plug-in in slices of several sizes, one object for each, by which answers are cached."""

    def issue(
        memory: MemoryBudget, emission: Emission, others: list[IssuedTransfer], room: Room
    ) -> IssuePlan:
        return IssuePlan(issued_weights(memory, emission, others, room, partial(_positions, plugin)), {})

    return StreamerPortfolio(plugin.written, by_slice_limits(issue, plugin.written))


def _positions(plugin: Plugin, chain: StepChain) -> list[int]:
    """What the plug-in answers, each position at a step where the load may be issued. Raises PluginFault."""
    answer: object = plugin.call(plugin.load().issue, chain)
    if not isinstance(answer, Iterable):
        raise plugin.fault(f"answers {type(answer).__name__}, not a position for each slice")
    given: list[object] = [*answer]
    if len(given) != len(chain.slices):
        raise plugin.fault(f"answers {len(given)} positions for {len(chain.slices)} slices")
    positions: list[int] = []
    for number, (each, position) in enumerate(zip(chain.slices, given, strict=True)):
        positions.append(plugin.whole(position, f"issues slice {number} at", "step"))
        if not chain.first <= positions[-1] <= each.first:
            what = f"issues slice {number} at step {position}; it may be step {chain.first} to {each.first}"
            raise plugin.fault(what)
    return positions
