"""Weights that are loaded in pieces into one buffer, although the op runs as a whole.

A piece is some output channels of a weight slice. Those at the start of the buffer are loaded first, as soon
as memory has room for them; the rest follows as room falls free. So the buffer grows while it is filled, and
takes no byte before it has to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, by_channels
from chipmodel.model.program import Op, Program, ops
from dma.schedule.forecast import TransferTimes
from dma.schedule.operands import TransferNeed
from dma.streamers.weight_region import StepChain, WeightSlice, earliest_pieces


def in_pieces(
    program: Program, needs: Sequence[TransferNeed], chain: StepChain, cycles: TransferTimes
) -> tuple[list[TransferNeed], StepChain]:
    """Return loads and ``chain`` with every slice of weights cut where memory has room for its first bytes
    earlier than for the rest."""
    by_name = {op.name: op for op in ops(program.body)}
    units = [_unit(program, by_name[need.op]) or need.bytes for need in needs]
    found: list[TransferNeed] = []
    slices: list[WeightSlice] = []
    cut = earliest_pieces(chain, units)
    for need, whole, unit, sizes in zip(needs, chain.slices, units, cut, strict=True):
        if len(sizes) == 1:
            found.append(need)
            slices.append(whole)
            continue
        for piece in _pieces(by_name[need.op], need, unit, sizes):
            found.append(piece)
            slices.append(WeightSlice(piece.bytes, whole.first, whole.last, cycles.of(piece)))
    return found, replace(chain, slices=tuple(slices))


def _unit(program: Program, op: Op) -> int:
    """The bytes of one output channel of the weights; 0 where these cannot be cut."""
    block, channels = program.block_bytes(op), op.work.channels
    return 0 if op.cascade or op.gathers or block % channels else block // channels


def _pieces(op: Op, need: TransferNeed, unit: int, sizes: Sequence[int]) -> Iterator[TransferNeed]:
    """The pieces of a slice: the last one fills the op's buffer, the others end with theirs."""
    total, share = op.work.channels, need.part.share
    first = 0 if share == WHOLE else share.channels.start
    edges = list(accumulate(sizes, initial=0))
    for number, (start, stop) in enumerate(pairwise(edges), 1):
        channels = Interval(first + start // unit, first + stop // unit)
        piece = replace(
            need, part=replace(need.part, share=by_channels(channels, total)), bytes=stop - start, at=start
        )
        last = number == len(sizes)
        yield piece if last else replace(piece, buffer=f"{need.buffer}.{number}", within=need.buffer)
