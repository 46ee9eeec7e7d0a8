"""Packing problems as commands name them: a CSV file, or buffers made at random; and limits of a search."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from chipmodel.cli.option_groups import Decorator, group
from chipmodel.cli.output import note
from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_bytes
from chipmodel.model.packing import PackingTable
from chipmodel.model.plan import Memory
from chipmodel.terminal.progress import stage
from solvers.core.outcome import MOST_NODES, MOST_SECONDS, MOST_SEED, Limits
from workloads.packing.guillotine import SCHEME, guillotine_table
from workloads.packing.problem_csv import parse_memories, read_packing


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """The bytes that a packing may use."""

    capacity: str | None
    memories: tuple[str, ...]

    def read(self, source: str) -> PackingTable:
        """The packing problem; its notes go to stderr. Raises BadInput."""
        with stage(f"reading {source}"):
            capacity = None if self.capacity is None else parse_bytes(self.capacity)
            table = read_packing_source(source, capacity, parse_memories(self.memories))
        note(table.notes)
        return table


def capacity_options(capacity_help: str, memory_help: str) -> Decorator:
    """``--capacity`` and ``--memory``, which mean the same everywhere and are explained where they are
    used."""
    return group(
        "memory_limits",
        CapacityOptions,
        click.option("--capacity", metavar="SIZE", help=capacity_help),
        click.option("--memory", "memories", multiple=True, metavar="NAME=SIZE", help=memory_help),
    )


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How long each planner that searches may take, and in which order it searches."""

    time_limit: float | None
    node_limit: int | None
    seed: int

    def limits(self, default_seconds: float) -> Limits:
        """Within the ranges that a search takes; ``default_seconds`` where none are given. Raises
        BadInput."""
        seconds, nodes = self.time_limit, self.node_limit
        if seconds is not None and not 0 <= seconds <= MOST_SECONDS:
            hint = f"0 to {MOST_SECONDS:,.0f} seconds"
            raise BadInput(f"--time-limit {seconds:g} is no limit", hint=hint)
        if nodes is not None and not 0 <= nodes <= MOST_NODES:
            raise BadInput(f"--node-limit {nodes} is no limit", hint="a whole number of nodes, 0 or more")
        if not 0 <= self.seed <= MOST_SEED:
            raise BadInput(f"--seed {self.seed} is no seed", hint=f"0 to {MOST_SEED}")
        return Limits(default_seconds if seconds is None and nodes is None else seconds, nodes, self.seed)


def search_options(default_seconds: float, time_help: str, node_help: str) -> Decorator:
    """``--time-limit``, ``--node-limit`` and ``--seed``."""
    default = f"[{default_seconds:g}; none with --node-limit]"
    return group(
        "search",
        SearchOptions,
        click.option("--time-limit", metavar="S", type=float, help=f"{time_help} {default}"),
        click.option("--node-limit", metavar="N", type=int, help=node_help),
        click.option("--seed", metavar="N", type=int, default=0, help="Another order of search. [0]"),
    )


def is_packing(workload: str) -> bool:
    """Whether ``workload`` names a packing problem rather than a program."""
    return workload.lower().endswith(".csv") or workload.startswith(SCHEME)


def read_packing_source(source: str, capacity: int | None, memories: tuple[Memory, ...]) -> PackingTable:
    """The packing in a CSV file, or one that is made. Raises BadInput."""
    if not source.startswith(SCHEME):
        return read_packing(Path(source), capacity, memories)
    if memories:
        raise BadInput(f"{SCHEME} makes buffers for one memory", hint="drop --memory")
    return guillotine_table(source, capacity)
