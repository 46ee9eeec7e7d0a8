"""The buffers and transfers of one core in a plan file: the input of every export of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chipmodel.errors import BadInput, DoesNotFit, Place
from chipmodel.execute.places import lies_in_tensor
from chipmodel.files.suggestions import shown
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command, Compute, DmaStart, Located
from chipmodel.model.schedule import CascadeOps
from chipmodel.model.tree import walk
from chipmodel.plan_file.contents import PlanFile, PlannedBuffer, PlannedCore, PsramHome
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """The buffers and commands of one core; ``capacity`` and ``peak`` in bytes."""

    workload: str
    chip: str
    capacity: int
    peak: int
    alignment: int
    buffers: tuple[PlannedBuffer, ...]
    commands: tuple[Command, ...]
    core: int | None = None
    """The core's number, on a chip with several."""
    cascades: tuple[CascadeOps, ...] = ()
    psram: tuple[PsramHome, ...] = ()
    """What lies where in Psram."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A rolling buffer: row ``r`` of ``tensor`` begins ``r * row_bytes`` modulo ``bytes`` after its start. A
    cascade in bands of columns has a ring of its own in the buffer for each band, of the ``columns`` then."""

    buffer: str
    tensor: str
    bytes: int
    row_bytes: int
    columns: Interval | None = None
    band: int | None = None

    @property
    def rows(self) -> int:
        """Rows that it holds."""
        return self.bytes // self.row_bytes


def layout_of(plan: PlanFile, file: str, core: int | None = None) -> Layout:
    """The layout of ``plan``, or of one core of it. Raises BadInput where a core must be named or does not
    exist, and where sizes or offsets contradict each other."""
    part = PlannedCore(plan.peak_bytes, plan.buffers, plan.commands, plan.cascades, plan.arena_bytes)
    if plan.cores:
        if core is None or not 0 <= core < len(plan.cores):
            problem = "each has its own memory" if core is None else f"there is no core {core}"
            hint = f"name one: --core 0 to {len(plan.cores) - 1}; "
            hint += "waits between cores are not exported"
            raise BadInput(
                f"the plan is for {len(plan.cores)} cores: {problem}", where=Place(file), hint=hint
            )
        part = plan.cores[core]
    elif core not in (None, 0):
        raise BadInput(
            f"the plan is for one core: there is no core {core}", where=Place(file), hint="--core 0"
        )
    _check(part, plan, file)
    number = core if plan.cores else None
    named = plan.workload, plan.chip, plan.capacity_bytes, part.peak_bytes
    return Layout(*named, plan.alignment, part.buffers, part.commands, number, part.cascades, plan.psram)


def _check(core: PlannedCore, plan: PlanFile, file: str) -> None:
    def refuse(what: str) -> BadInput:
        return BadInput(what, where=Place(file), hint="chipmodel check says whether a plan is correct")

    names: set[str] = set()
    for buffer in core.buffers:
        if buffer.name in names:
            raise refuse(f"two buffers have the name {shown(buffer.name)}")
        names.add(buffer.name)
    highest = max((b.offset + b.bytes for b in core.buffers), default=0)
    if max(highest, core.arena_bytes) != core.peak_bytes:
        raise refuse(f"its peak is {core.peak_bytes:,} B, but its buffers end at {highest:,}")
    if plan.alignment < 1:
        raise refuse(f"its alignment is {plan.alignment}, which is below 1")


def must_fit(layout: Layout, file: str) -> None:
    """Raise DoesNotFit where the peak is above the capacity."""
    if layout.peak > layout.capacity:
        raise DoesNotFit(
            f"the plan needs {layout.peak:,} B of {layout.capacity:,} B",
            where=Place(file),
            hint="plan it again with another --packer or more memory; "
            "--as minimalloc (to=minimalloc) exports it anyway",
        )


def rings(layout: Layout) -> tuple[Ring, ...]:
    """Every rolling buffer, in the order of first use, with one for each band of columns."""
    by_buffer: dict[str, dict[Interval | None, Ring]] = {}
    for command in walk(layout.commands):
        loaded = (command.at,) if isinstance(command, DmaStart) else ()
        for place in command.writes if isinstance(command, Compute) else loaded:
            share = place.part.share
            columns = share.columns if share.banded else None
            of_buffer = by_buffer.setdefault(place.buffer, {}) if place.rolls else {}
            if place.rolls and share.rows.start == 0 and columns not in of_buffer:
                taken = place.bytes if place.touched is None else len(place.touched)
                each = max(1, taken // max(1, len(share.rows)))
                of_buffer[columns] = Ring(place.buffer, place.part.name, place.bytes, each, columns)
    return tuple(ring for each in by_buffer.values() for ring in _numbered(list(each.values())))


def _numbered(of_buffer: list[Ring]) -> Iterator[Ring]:
    """The rings of a buffer with the number of their band, where there are several."""
    for number, ring in enumerate(of_buffer):
        yield replace(ring, band=number) if len(of_buffer) > 1 else ring


def tensors_in_buffers(layout: Layout) -> dict[str, tuple[str, int]]:
    """Tensors that lie inside of a buffer of another name: the buffer, and the first byte there."""
    starts = {buffer.name: buffer.offset for buffer in layout.buffers}
    places: dict[str, tuple[str, int]] = {}
    for place in _places(layout.commands):
        name = place.part.name
        if not place.part.weights and not place.rolls and lies_in_tensor(place) and name not in starts:
            places.setdefault(name, (place.buffer, place.offset - starts.get(place.buffer, 0)))
    return {name: at for name, at in places.items() if at[0] in starts}


def _places(commands: tuple[Command, ...]) -> Iterator[Located]:
    for command in walk(commands):
        if isinstance(command, Compute):
            yield from (*command.writes, *command.reads)
        elif isinstance(command, DmaStart):
            yield command.at
