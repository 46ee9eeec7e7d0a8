"""Addresses in Psram: weights in the order in which they are loaded, then tensors.

As a compiler would do, every transfer finds its weight slice in one piece, which starts on a line of the
controller, so that no burst moves half a line in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chipmodel.model.interval import Interval
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from dma.schedule.steps import TransferNeed

ALIGNMENT = 64
"""Bytes; at least a line of every modelled controller."""


@dataclass
class PsramLayout:
    """Addresses in Psram, assigned from 0 on. Tensors that share memory share their address; ``storage``
    names the tensor that has it."""

    program: Program
    storage: Mapping[str, str]
    homes: dict[Part | str, Interval] = field(default_factory=dict[Part | str, Interval])
    end: int = 0

    def home(self, part: Part, size: int) -> Interval:
        """The bytes of the weight slice ``part`` of ``size`` bytes, or of the whole tensor of ``part``."""
        key = part if part.weights else self.storage[part.name]
        if key not in self.homes:
            whole = size if part.weights else self.program.tensors[self.storage[part.name]].bytes
            self.homes[key] = Interval(self.end, self.end + whole)
            self.end += -(-whole // ALIGNMENT) * ALIGNMENT
        return self.homes[key]

    def address(self, part: Part, size: int) -> int:
        """The first byte of ``part``: bands of rows one after another, in each its channels."""
        home, share = self.home(part, size), part.share
        if part.weights:
            return home.start
        before = share.rows.start * share.of_channels + len(share.rows) * share.channels.start
        return home.start + len(home) * before // (share.of_rows * share.of_channels)


def lay_out(program: Program, storage: Mapping[str, str], needs: Iterable[TransferNeed]) -> PsramLayout:
    """A layout with addresses for all that ``needs`` move, the weights first."""
    layout = PsramLayout(program, storage)
    for need in sorted(needs, key=lambda n: not n.part.weights):
        layout.home(need.part, need.bytes)
    return layout
