"""Packing problems as commands name them: a CSV file, or buffers made at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chipmodel.cli.output import note
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.model.plan import PackingTable
    from solvers.core.deadline import Deadline


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """The bytes that a packing may use."""

    capacity: str | None
    memories: tuple[str, ...]

    def read(self, source: str, deadline: Deadline | None = None) -> PackingTable:
        """The packing problem; its notes go to stderr. Raises BadInput, TimeIsOver."""
        from chipmodel.api.packing import read_source
        from chipmodel.files.sizes import parse_bytes
        from solvers.core.deadline import NO_DEADLINE
        from workloads.packing.problem_csv import parse_memories

        with stage(f"reading {source}"):
            capacity = None if self.capacity is None else parse_bytes(self.capacity)
            table = read_source(source, capacity, parse_memories(self.memories), deadline or NO_DEADLINE)
        note(table.notes)
        return table
