"""Packing problems as commands name them: a CSV file, or buffers made at random; and limits of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chipmodel.cli.file_options import option
from chipmodel.cli.option_groups import Decorator, all_of, group
from chipmodel.cli.output import note
from chipmodel.pipeline.choices import PACKING_PACKER
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage

if TYPE_CHECKING:
    from chipmodel.model.plan import PackingTable
    from solvers.core.deadline import Deadline


packer_option = option(
    "--packer NAME", "Planner of offsets (see chipmodel planners).", default=PACKING_PACKER
)


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


def capacity_options(capacity_help: str, memory_help: str) -> Decorator:
    """``--capacity`` and ``--memory``, which mean the same everywhere and are explained by each command."""
    return group(
        "memory_limits",
        CapacityOptions,
        option("--capacity SIZE", capacity_help),
        option("--memory NAME=SIZE", memory_help, to="memories", multiple=True),
    )


def search_options(default_seconds: float, time_help: str, node_help: str) -> Decorator:
    """``--time-limit``, ``--node-limit`` and ``--seed``."""
    default = f"[{default_seconds:g}; none with --node-limit]"
    return all_of(
        option("--time-limit S", f"{time_help} {default}"),
        option("--node-limit N", node_help),
        option("--seed N", "Another order of search.", default=0),
    )
