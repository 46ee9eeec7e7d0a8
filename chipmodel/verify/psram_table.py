"""Check a plan file's table of places in Psram: every command uses it, and nothing else is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command, DmaStart, walk
from chipmodel.model.schedule import Part
from chipmodel.plan_file.contents import PsramHome
from chipmodel.verify.parts import part_label


def psram_table_faults(
    table: Sequence[PsramHome], streams: Sequence[tuple[Command, ...]], capacity: int
) -> Iterator[str]:
    """What is wrong with ``table``, given the commands of each core and the bytes of Psram."""
    homes: dict[Part, Interval] = {}
    for entry in table:
        if entry.part in homes:
            yield f"the table of Psram has {part_label(entry.part)} twice"
        if entry.home.start < 0 or entry.home.stop > capacity:
            yield f"{part_label(entry.part)} lie at {entry.home} of Psram, which has {capacity} bytes"
        homes.setdefault(entry.part, entry.home)
    used: set[Part] = set()
    for start in (c for commands in streams for c in walk(commands) if isinstance(c, DmaStart)):
        what = start.at.part if start.at.part.weights else Part(start.at.part.name)
        used.add(what)
        if homes.get(what) != start.home:
            stated = homes.get(what, "no place")
            found = f"{part_label(what)} at {start.home} of Psram"
            yield f"transfer {start.name!r} has {found}, the table at {stated}"
    for part in homes:
        if part not in used:
            yield f"the table of Psram has {part_label(part)}, which no command moves"
