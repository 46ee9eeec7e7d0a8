"""Packing problems: buffers with lifetimes, each to get an offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from chipmodel.answers.packing import PackingAnswer
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Cancel, Progress, TimeLimit, observing
from chipmodel.comparison.packing import checked_answer
from chipmodel.errors import BadInput
from chipmodel.files.csv_lines import csv_line
from chipmodel.files.sizes import parse_bytes
from chipmodel.files.suggestions import shown
from chipmodel.model.plan import Memory, PackingTable, Problem, Status
from chipmodel.pipeline.choices import PACK_SECONDS, PACKING_PACKER
from chipmodel.records import dataclass
from reports.packing import headline, page
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.outcome import MOST_NODES, MOST_SECONDS, MOST_SEED, Limits
from workloads.packing.guillotine import SCHEME, guillotine_table
from workloads.packing.problem_csv import (
    REQUIRED,
    parse_memories,
    parse_packing,
    read_packing,
    table_of,
    write_packing,
)

BufferRow: TypeAlias = Mapping[str, object] | Sequence[object]
"""A buffer with the columns of ``chipmodel pack``, or its id, lower, upper and size."""
PackingSource: TypeAlias = str | Path | PackingTable | Problem | Sequence[BufferRow]
"""A packing problem: a CSV file, ``guillotine:n=100``, a problem, or its buffers."""


@dataclass(frozen=True, slots=True, repr=False)
class Packing(ToldAnswer):
    """Offsets, checked, with a lower bound on the peak. ``answer`` has every detail."""

    answer: PackingAnswer
    table: PackingTable
    """The problem that was packed."""
    telling = Telling(headline, page)

    @property
    def fits(self) -> bool:
        """Whether there is a plan, within the capacity if there is one."""
        return self.answer.fits

    @property
    def status(self) -> Status:
        """``optimal``, ``feasible``, ``infeasible`` or ``unknown``."""
        return self.answer.status

    @property
    def peak_bytes(self) -> int | None:
        """The end of the highest buffer, or the packer's arena if that is larger; None without a plan."""
        return self.answer.peak

    @property
    def bound(self) -> int:
        """The least peak that any plan has, in bytes, as far as it is proven."""
        return self.answer.lower_bound

    @property
    def gap(self) -> float | None:
        """The bytes of the peak above the bound, as a share of it; None without a plan."""
        return self.answer.gap

    @property
    def offsets(self) -> Mapping[str, int]:
        """Offsets in bytes, by the name of the buffer; empty without a plan."""
        return self.answer.plan.offsets if self.answer.plan else {}

    def to_csv(self) -> str:
        """The rows with a column of offsets. Raises BadInput where there is no plan that fits."""
        if self.answer.plan is None or not self.fits:
            raise BadInput("there is no plan that fits", hint="a larger capacity, or a longer time limit")
        return write_packing(self.table, self.answer.plan)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A buffer a row; its offset is None without a plan."""
        return [
            {
                "buffer": buffer.name,
                "lower": min((live.start for live in buffer.live), default=0),
                "upper": max((live.stop for live in buffer.live), default=0),
                "bytes": buffer.bytes,
                "offset": self.offsets.get(buffer.name),
            }
            for buffer in self.answer.problem.buffers
        ]


@checked
def pack(
    buffers: PackingSource,
    *,
    capacity: int | str | None = None,
    memories: Mapping[str, int | str] | None = None,
    packer: str = PACKING_PACKER,
    node_limit: int | None = None,
    seed: int = 0,
    name: str = "buffers",
    time_limit: float | TimeLimit | None = None,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
) -> Packing:
    """Return an offset for every buffer, in as few bytes as possible or within ``capacity``.

    Parameters
    ----------
    buffers
        A CSV file, a table, or a sequence of buffers: a name, the half-open lifetime ``[lower, upper)`` in
        steps, and the size in bytes.
    capacity
        Bytes, or a text such as ``"1MiB"``.
    memories
        Several memories, laid one after another: bytes, or ``"START-STOP"``, by name.
    packer
        The packer's name; ``planners()`` lists them.
    node_limit
        Nodes after which the search ends; the same problem and ``seed`` then have the same answer everywhere.
        Without it and without ``time_limit`` the search ends after a minute.
    seed
        Seed of the search.
    name
        What messages and the answer call buffers that are no file.
    time_limit
        Seconds, or a ``TimeLimit`` that several calls share; then the search ends with what it has.
    cancel
        Is asked now and then whether to end so.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If the buffers cannot be read, or an option is not known.

    Examples
    --------
    >>> pack([("a", 0, 2, 64), ("b", 1, 3, 64), ("c", 2, 4, 64)]).peak_bytes
    128
    """
    limit = search_limit(time_limit, node_limit, seed, PACK_SECONDS, cancel)
    with observing(progress):
        table = packing_table(buffers, capacity, memories, limit.grace)
        called = str(buffers) if isinstance(buffers, str | Path) else name
        limits = Limits(limit.seconds, node_limit, seed, deadline=limit.deadline)
        return Packing(checked_answer(table, called, packer, limits), table)


def packing_table(
    buffers: PackingSource,
    capacity: int | str | None = None,
    memories: Mapping[str, int | str] | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> PackingTable:
    """The packing problem that ``buffers`` name. Raises BadInput, TimeIsOver."""
    size = None if capacity is None else parse_bytes(capacity)
    places = parse_memories(tuple(f"{name}={text}" for name, text in (memories or {}).items()))
    if isinstance(buffers, PackingTable):
        return buffers
    if isinstance(buffers, str | Path):
        return read_source(str(buffers), size, places, deadline)
    if isinstance(buffers, Problem):
        problem = replace(buffers, capacity=buffers.capacity if size is None else size)
        return table_of(replace(problem, memories=places or problem.memories))
    if hasattr(buffers, "to_dict"):
        what = f"buffers is a {type(buffers).__name__}, which is not a sequence of rows"
        raise BadInput(what, hint="give a list of rows; of a pandas table: table.to_dict('records')")
    return parse_packing(_as_csv(buffers), "buffers", size, places, deadline)


def search_limit(
    given: float | TimeLimit | None, nodes: int | None, seed: int, most: float, cancel: Cancel | None = None
) -> TimeLimit:
    """The time of a search, ``most`` seconds where no limit is given. Raises BadInput."""
    if isinstance(given, TimeLimit):
        return given
    return TimeLimit(search_seconds(given, nodes, seed, most), cancel)


def search_seconds(seconds: float | None, nodes: int | None, seed: int, most: float) -> float | None:
    """The same in seconds; None for none."""
    check_limits(seconds, nodes, seed)
    return most if seconds is None and nodes is None else seconds


def read_source(
    source: str, capacity: int | None, memories: tuple[Memory, ...], deadline: Deadline = NO_DEADLINE
) -> PackingTable:
    """The packing in a CSV file, or one that is made. Raises BadInput, TimeIsOver."""
    if not source.startswith(SCHEME):
        return read_packing(Path(source), capacity, memories, deadline)
    if memories:
        raise BadInput(f"{SCHEME} makes buffers for one memory", hint="drop --memory")
    return guillotine_table(source, capacity, deadline)


def is_packing(workload: object) -> TypeGuard[PackingSource]:
    """Whether ``workload`` names a packing problem rather than a program."""
    if isinstance(workload, str | Path):
        return str(workload).lower().endswith(".csv") or str(workload).startswith(SCHEME)
    return isinstance(workload, PackingTable | Problem | list | tuple)


def check_limits(seconds: float | None, nodes: int | None, seed: int) -> None:
    """Raise BadInput for a limit that no search can take."""
    if seconds is not None and not 0 <= seconds <= MOST_SECONDS:
        written = f"{seconds:g}" if isinstance(seconds, float) else shown(seconds)
        raise BadInput(f"--time-limit {written} is not a limit", hint=f"0 to {MOST_SECONDS:,.0f} seconds")
    if nodes is not None and not 0 <= nodes <= MOST_NODES:
        raise BadInput(f"--node-limit {nodes} is not a limit", hint="a whole number of nodes, 0 or more")
    if not 0 <= seed <= MOST_SEED:
        raise BadInput(f"--seed {seed} is not a seed", hint=f"0 to {MOST_SEED}")


def _as_csv(rows: Sequence[BufferRow]) -> str:
    """The rows as text, with every column that one of them has."""
    named = [_by_column(row) for row in rows]
    columns = list(dict.fromkeys(key for row in named for key in row)) or REQUIRED
    lines = [tuple(_cell(column, row.get(column)) for column in columns) for row in named]
    return "\n".join(map(csv_line, [tuple(columns), *lines])) + "\n"


def _by_column(row: BufferRow) -> Mapping[str, object]:
    if isinstance(row, Mapping):
        return row
    if len(row) != len(REQUIRED):
        what = f"a buffer has {len(row)} values: {shown(row)}"
        raise BadInput(what, hint=f"give {', '.join(REQUIRED)}, or a mapping of columns")
    return dict(zip(REQUIRED, row, strict=True))


def _cell(column: str, value: object) -> str:
    """``value`` as a CSV file has it: there, sizes are digits only."""
    if column == "size" and isinstance(value, str):
        with suppress(BadInput):  # whoever reads the table says in which row
            return str(parse_bytes(value))
    return "" if value is None else str(value)
