"""Addresses in Psram: weights in the order in which they are loaded, then tensors.

As a compiler would do, every transfer finds its weight slice in one piece, which starts on a line of the
controller, so that no burst moves half a line in vain. Every tensor lies there row after row, in each row its
channels, in each channel its columns, however the ops that write and read it are cut: so a part with some of
the channels of several rows is a run of bytes in each of these rows, and one with some of the columns a run
in each channel of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.fit import OFF_CHIP_ALIGNMENT
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import Part
from dma.schedule.operands import TransferNeed

HomeKey = tuple[tuple[str, ...], Share, int] | str
"""What has one place in Psram: a slice of the weights with these names, of which each of so many channels has
its share of every one, or a tensor that has the memory."""


@dataclass
class PsramLayout:
    """Addresses in Psram, assigned from 0 on. Tensors that share memory share their address; ``storage``
    names the tensor that has it. Ops with the same weights share them where they are cut alike."""

    program: Program
    storage: Mapping[str, str]
    homes: dict[HomeKey, Interval] = field(default_factory=dict[HomeKey, Interval])
    end: int = 0
    ops: dict[str, Op] = field(init=False)

    def __post_init__(self) -> None:
        outer = {op.name: op for op in ops(self.program.body)}
        self.ops = outer | {inner.name: inner for op in outer.values() for inner in op.cascade}

    def home(self, part: Part, size: int) -> Interval:
        """The bytes of the weight slice ``part`` of ``size`` bytes, or of the whole tensor of ``part``. An op
        that looks up rows of a table has the whole table."""
        key: HomeKey
        if not part.weights:
            key = self.storage[part.name]
            size = self.program.psram_bytes(key)
        else:
            op = self.ops[part.name]
            key = weights_key(op, part.share)
            size = self.program.table_bytes(op) if op.gathers else size
        return self._at(key, size)

    def _at(self, key: HomeKey, size: int) -> Interval:
        if key not in self.homes:
            self.homes[key] = Interval(self.end, self.end + size)
            self.end += aligned(size)
        return self.homes[key]

    def in_place(self) -> dict[str, Interval]:
        """The bytes of the weights of each op that reads them in place, also inside of cascades."""
        ops = (op for op in self.ops.values() if op.weights_in_place)
        return {op.name: self._at(weights_key(op, WHOLE), self.program.table_bytes(op)) for op in ops}

    def address(self, part: Part, size: int) -> int:
        """The first byte of ``part``."""
        home, share = self.home(part, size), part.share
        if part.weights:
            return home.start
        before = share.rows.start * share.of_channels + share.channels.start
        lines = share.of_rows * share.of_channels
        if share.banded:
            before, lines = before * share.of_columns + share.columns.start, lines * share.of_columns
        return home.start + self._bytes(part) * before // lines

    def pitch(self, part: Part) -> int:
        """Bytes from the start of one run of ``part`` to that of the next: a row's, or one channel's of a row
        where it has some of the columns; 0 for a single run."""
        lines = part.share.of_rows * (part.share.of_channels if part.share.banded else 1)
        return self._bytes(part) // lines if part.runs > 1 else 0

    def _bytes(self, part: Part) -> int:
        return self.program.tensors[self.storage[part.name]].bytes


def weights_key(op: Op, share: Share) -> HomeKey:
    """What the ``share`` of the weights of ``op`` is: a table is not divided, and several weights lie channel
    by channel."""
    channels = op.work.channels if len(op.constants) > 1 and not op.gathers else 1
    return op.constants, WHOLE if op.gathers else share, channels


def aligned(size: int) -> int:
    """``size`` bytes up to the next line."""
    return round_up(size, OFF_CHIP_ALIGNMENT)


def lay_out(program: Program, storage: Mapping[str, str], needs: Iterable[TransferNeed]) -> PsramLayout:
    """Return a layout with addresses for weights read in place, then for all that ``needs`` move."""
    layout = PsramLayout(program, storage)
    layout.in_place()
    for need in sorted(needs, key=lambda n: not n.part.weights):
        layout.home(need.part, need.bytes)
    return layout
