"""Refuse a SharedMemory that is far too small before planning begins, and say how much is enough."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from chipmodel.cascades.columns import op_columns, part_reads
from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv
from dma.residency.fitted import fitted, least_part
from dma.schedule.build import MAX_PARTS, StreamRequest, perhaps_many_parts, refusal_of_cuts
from dma.schedule.least_pieces import least_parts
from dma.streamers import sync

SIZES = tuple(1 << power for power in range(7, 33))
"""Bytes of SharedMemory that are tried: 128 B to 4 GiB, what 32-bit addresses reach."""


def fitted_or_refused(program: Program, chip: Chip) -> Program:
    """Return ``program`` as ``fitted`` cuts it. Raises TooManyParts where ops would run in more than
    ``MAX_PARTS`` parts on a core: proven for any cuts, or with those of ``fitted`` and of streamer sync,
    which needs the least memory; DoesNotFit where a convolution has no room even in a cascade. The message
    has a size that is enough, where one is."""
    size, many = chip.shared_memory.bytes, f"its ops would run in more than {MAX_PARTS:,} parts"
    if least_parts(program, size) > MAX_PARTS * chip.cores:
        raise _too_little(program, chip, TooManyParts, many)
    cut = fitted(program, chip)
    if chip.cores > 1:
        return cut
    for op in cut.ops():
        if isinstance(op.work, Conv) and size < min(least_part(cut, op), needed := _element_reads(cut, op)):
            why = f"for one element of what op {op.name!r} makes it reads {needed:,} B"
            raise _too_little(program, chip, DoesNotFit, why)
    if perhaps_many_parts(cut, size) and isinstance(_refusal(cut, chip), TooManyParts):
        raise _too_little(program, chip, TooManyParts, many)
    return cut


def _element_reads(program: Program, op: Op) -> int:
    """Return the bytes that an op reads for an element in the middle of its output, at least."""
    rows, channels = (Interval(n // 2, n // 2 + 1) for n in (op.work.rows, op.work.channels))
    width = op_columns(program, op)
    column = Interval(width // 2, width // 2 + 1) if width else None
    shares = {n: part_reads(program, op, at, rows, channels, column) for at, n in enumerate(op.inputs)}
    return sum(share.bytes(program.tensors[name].bytes) for name, share in shares.items())


def _refusal(cut: Program, chip: Chip) -> DoesNotFit | None:
    return refusal_of_cuts(StreamRequest(cut, chip, chip.shared_memory.bytes), sync.STREAMER)


def _too_little(program: Program, chip: Chip, kind: type[DoesNotFit], why: str) -> DoesNotFit:
    size = chip.shared_memory.bytes
    what = f"{size:,} B of SharedMemory are too few for {program.name}: {why}"
    # From the largest on: the more there is, the fewer parts are tried.
    larger = takewhile(partial(_is_enough, program, chip), (each for each in SIZES[::-1] if each > size))
    least = min(larger, default=None)
    if least is None:
        return kind(what, hint="a smaller network, or check the sizes of its ops")
    hint = f"--set shared_memory.bytes={least}, or chip(..., shared_memory__bytes={least})"
    return kind(f"{what}; {least:,} B are enough", hint=hint)


def _is_enough(program: Program, chip: Chip, size: int) -> bool:
    other = chip.with_memory(size)
    return _refusal(fitted(program, other), other) is None
