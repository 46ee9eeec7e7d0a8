"""Refuse a SharedMemory that is far too small before planning begins, and say how much is enough."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chipmodel.cascades.columns import op_columns, part_reads
from chipmodel.errors import MORE_MEMORY, DoesNotFit, Place, TooManyParts
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv
from chipmodel.pipeline.finer_cuts import finer_programs
from chipmodel.terminal.progress import stage
from dma.residency.fitted import fitted, least_part
from dma.schedule.build import MAX_PARTS, StreamRequest, refusal_of_cuts
from dma.schedule.least_pieces import least_parts
from dma.streamers import sync
from solvers.core.deadline import NO_DEADLINE, Deadline

SIZES = tuple(1 << power for power in range(7, 33))
"""Bytes of SharedMemory that are tried first: 128 B to 4 GiB, what 32-bit addresses reach."""
STEP = 64
"""Sizes between two of these are multiples of it: no chip of a preset aligns to more."""
PARTS_TAKEN = 64
"""How many times the parts that are proven ops may run in, at most (assumed): ResNets take some 30 times."""
NEAR = 16
"""They are tried until what is enough is at most one part in so many above what is not."""
MOST_CUTS = 500
"""After so many ops into which others were cut no further size is tried: some 3 seconds (measured)."""


def fitted_or_refused(program: Program, chip: Chip, until: Deadline = NO_DEADLINE) -> Program:
    """Return ``program`` as ``fitted`` cuts it. Raises TooManyParts where ops would run in more than
    ``MAX_PARTS`` parts on a core: proven for any cuts, or with those of ``fitted`` and of streamer sync,
    which needs the least memory; DoesNotFit where a convolution has no room even in a cascade. The message
    has a size that is enough, where one is found ``until`` then."""
    size, many = chip.shared_memory.bytes, f"its ops would run in more than {MAX_PARTS:,} parts"
    most = MAX_PARTS * chip.cores
    if least_parts(program, size) > most:
        # The fewest bytes with which so many are not proven; fewer parts need no fewer bytes.
        least = bisect(range(SIZES[-1]), -most - 1, key=lambda each: -least_parts(program, each))
        why = f"{many}, as in any memory of less than {least:,} B"
        raise _too_little(program, chip, TooManyParts, why, _Tries(program, chip, least - 1, until))
    cut = fitted(program, chip)
    if chip.cores > 1:
        return cut
    convolutions = [op for op in cut.ops() if isinstance(op.work, Conv)]
    needed = {op.name: min(least_part(cut, op), _element_reads(cut, op)) for op in convolutions}
    op = max(convolutions, key=lambda each: needed[each.name], default=None)
    if op is not None and needed[op.name] > size:
        why = f"for one element of what op {op.name!r} makes it reads {_element_reads(cut, op):,} B"
        raise _too_little(program, chip, DoesNotFit, why, _Tries(program, chip, needed[op.name] - 1, until))
    if PARTS_TAKEN * least_parts(cut, size) > most and isinstance(_refusal(cut, chip), TooManyParts):
        raise _too_little(program, chip, TooManyParts, many, _Tries(program, chip, size, until))
    return cut


@contextmanager
def with_enough_memory_named(program: Program, chip: Chip, until: Deadline) -> Generator[None]:
    """Name a size of SharedMemory that is enough in a DoesNotFit of the body, which plans ``program``."""
    try:
        yield
    except DoesNotFit as refusal:
        if refusal.hint != MORE_MEMORY or chip.cores > 1 or until.over:
            raise
        tries = _Tries(program, chip, chip.shared_memory.bytes, until)
        raise _with_least(type(refusal), refusal.what, tries, MORE_MEMORY, refusal.where) from None


def _element_reads(program: Program, op: Op) -> int:
    """Return the bytes that an op reads for an element in the middle of its output, at least."""
    rows, channels = (Interval(n // 2, n // 2 + 1) for n in (op.work.rows, op.work.channels))
    width = op_columns(program, op)
    column = Interval(width // 2, width // 2 + 1) if width else None
    shares = {n: part_reads(program, op, at, rows, channels, column) for at, n in enumerate(op.inputs)}
    return sum(share.bytes(program.tensors[name].bytes) for name, share in shares.items())


def _refusal(cut: Program, chip: Chip) -> DoesNotFit | None:
    return refusal_of_cuts(StreamRequest(cut, chip, chip.shared_memory.bytes), sync.STREAMER)


def _too_little(program: Program, chip: Chip, kind: type[DoesNotFit], why: str, tries: _Tries) -> DoesNotFit:
    what = f"{chip.shared_memory.bytes:,} B of SharedMemory are too few for {program.name}: {why}"
    return _with_least(kind, what, tries, "a smaller network, or check the sizes of its ops")


def _with_least(
    kind: type[DoesNotFit], what: str, tries: _Tries, otherwise: str, where: Place | None = None
) -> DoesNotFit:
    with stage(f"{what}; looking for a size that is enough"):
        least = tries.least_enough()
    if least is None:
        return kind(what, where=where, hint=otherwise)
    hint = f"--set shared_memory.bytes={least}, or chip(..., shared_memory__bytes={least})"
    return kind(f"{what}; {least:,} B are enough", where=where, hint=hint)


@dataclass(slots=True)
class _Tries:
    """Tries of sizes of more than ``low`` bytes, and the ops into which they have cut others."""

    program: Program
    chip: Chip
    low: int
    until: Deadline
    cuts: int = 0

    def least_enough(self) -> int | None:
        """Return the least size that is found to be enough; None for none."""
        high: int | None = None
        # From the largest on: the more there is, the fewer parts are tried.
        for size in (each for each in SIZES[::-1] if each > self.low):
            if not self.is_enough(size):
                self.low = size
                break
            high = size
        while (
            high
            and high - self.low > max(2 * STEP, high // NEAR)
            and self.cuts < MOST_CUTS
            and not self.until.over
        ):
            middle = (self.low + high) // 2 // STEP * STEP
            if self.is_enough(middle):
                high = middle
            else:
                self.low = middle
        return high

    def is_enough(self, size: int) -> bool:
        """Whether streamer sync can cut the ops so that they run, as a plan without cascades does."""
        chip = self.chip.with_memory(size)
        for number, cut in enumerate(self.cut_for(chip)):
            self.cuts += sum(1 for _ in cut.ops()) - sum(1 for _ in self.program.ops())
            refusal = _refusal(cut, chip)
            if refusal is None:
                return True
            if (not number and isinstance(refusal, TooManyParts)) or self.cuts > MOST_CUTS:
                return False
        return False

    def cut_for(self, chip: Chip) -> Iterator[Program]:
        cut = fitted(self.program, chip)
        yield cut
        yield from finer_programs(cut, chip)
