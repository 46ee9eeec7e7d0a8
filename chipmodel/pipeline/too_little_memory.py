"""Refuse a SharedMemory that is far too small before planning begins, and say how much is enough."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from dma.residency.fitted import fitted
from dma.schedule.build import MAX_PARTS, StreamRequest, perhaps_many_parts, refusal_of_cuts
from dma.schedule.least_pieces import least_parts
from dma.streamers import sync

SIZES = tuple(1 << power for power in range(7, 33))
"""Bytes of SharedMemory that are tried: 128 B to 4 GiB, what 32-bit addresses reach."""


def fitted_or_refused(program: Program, chip: Chip) -> Program:
    """Return ``program`` as ``fitted`` cuts it. Raises TooManyParts where ops would run in more than
    ``MAX_PARTS`` parts on a core: proven for any cuts, or with those of ``fitted`` and of streamer sync,
    which needs the least memory. The message has a size that is enough, where one is."""
    if least_parts(program, chip.shared_memory.bytes) > MAX_PARTS * chip.cores:
        raise _too_little(program, chip)
    cut = fitted(program, chip)
    many = chip.cores == 1 and perhaps_many_parts(cut, chip.shared_memory.bytes)
    if many and isinstance(_refusal(cut, chip), TooManyParts):
        raise _too_little(program, chip)
    return cut


def _refusal(cut: Program, chip: Chip) -> DoesNotFit | None:
    return refusal_of_cuts(StreamRequest(cut, chip, chip.shared_memory.bytes), sync.STREAMER)


def _too_little(program: Program, chip: Chip) -> TooManyParts:
    size = chip.shared_memory.bytes

    what = (
        f"{size:,} B of SharedMemory are too few for {program.name}: its ops would run in more than "
        f"{MAX_PARTS:,} parts"
    )
    # From the largest on: the more there is, the fewer parts are tried.
    larger = takewhile(partial(_is_enough, program, chip), (each for each in SIZES[::-1] if each > size))
    least = min(larger, default=None)
    if least is None:
        return TooManyParts(what, hint="a smaller network, or check the sizes of its ops")
    hint = f"--set shared_memory.bytes={least}, or chip(..., shared_memory__bytes={least})"
    return TooManyParts(f"{what}; {least:,} B are enough", hint=hint)


def _is_enough(program: Program, chip: Chip, size: int) -> bool:
    other = chip.with_memory(size)
    return _refusal(fitted(program, other), other) is None
