"""The arena of TensorFlow Lite Micro."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chipmodel.answers.arena import ArenaAnswer, SplitArenaAnswer
from chipmodel.api.answer import Telling, ToldAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, TimeLimit, observing
from chipmodel.api.packing import search_limit
from chipmodel.api.target import ChipSource, chip as target_chip
from chipmodel.comparison.arena import plan_arena, with_arena_plan
from chipmodel.comparison.split_arena import split_arena as plan_split_arena
from chipmodel.errors import Place
from chipmodel.files.atomic_write import write_atomically
from chipmodel.files.document import document
from chipmodel.files.sizes import parse_bytes
from chipmodel.model.plan import Status
from chipmodel.pipeline.choices import ARENA_SECONDS, PACKING_PACKER
from chipmodel.records import dataclass
from chipmodel.terminal.progress import stage
from reports import arena as arena_report, split_arena as split_report
from reports.export.arena_header import arena_header
from solvers.core.outcome import Limits
from workloads.from_tflite.model_file import TfliteModel, parse_model, read_model


@dataclass(frozen=True, slots=True, repr=False)
class Arena(ToldAnswer):
    """The size that an arena needs, and a plan for it. ``answer`` has every request."""

    answer: ArenaAnswer
    source: bytes
    """The model as it was."""
    telling = Telling(arena_report.headline, arena_report.page)

    @property
    def head_bytes(self) -> int:
        """The head with our plan."""
        return self.answer.head_bytes

    @property
    def runtime_bytes(self) -> int:
        """The head as the runtime's own planner lays it out."""
        return self.answer.runtime_head_bytes

    @property
    def bound(self) -> int:
        """Bytes that no plan of the head goes below."""
        return self.answer.lower_bound_bytes

    @property
    def status(self) -> Status:
        """``optimal`` where the head is as small as the bound."""
        return self.answer.status

    @property
    def model(self) -> bytes:
        """The model with the offsets as its OfflineMemoryAllocation. Raises BadInput where it has no room,
        and where the memory of some kernel is not known."""
        return with_arena_plan(self.source, self.answer, Place(self.answer.source))

    def write_model(self, path: str | Path) -> None:
        """Write ``model`` to a file, whole or not at all. Raises BadInput where that cannot be."""
        write_atomically(Path(path), self.model)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A request a row: tensors, and what kernels ask for."""
        keys = ("name", "bytes", "first", "last", "tensor")
        return [{key: getattr(request, key) for key in keys} for request in self.answer.requests]


@dataclass(frozen=True, slots=True, repr=False)
class SplitArena(ToldAnswer):
    """A plan of an arena's tensors in SRAM and in Psram. ``answer`` has every place."""

    answer: SplitArenaAnswer
    telling = Telling(split_report.headline, split_report.page)

    @property
    def header(self) -> str:
        """The plan as a C++ header with a planner that TensorFlow Lite Micro takes."""
        return arena_header(self.answer)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A place a row."""
        return list(map(document, self.answer.places))


@checked
def arena(
    model: str | Path | bytes,
    *,
    packer: str = PACKING_PACKER,
    time_limit: float | TimeLimit | None = None,
    node_limit: int | None = None,
    seed: int = 0,
    name: str = "model.tflite",
    progress: Progress | None = None,
) -> Arena:
    """Return how large the arena of TensorFlow Lite Micro must be, and a plan for it.

    Parameters
    ----------
    model
        A .tflite file, or its contents.
    packer
        The packer that looks for the smallest arena; ``planners()`` lists them.
    time_limit
        Seconds after which the search ends, or a ``TimeLimit``; 20 where neither limit is given.
    node_limit
        Nodes after which the search ends; the answer is then the same on every machine.
    seed
        Seed of the search.
    name
        What messages call a model that is given as its contents.
    progress
        Receives a line for every stage.

    Raises
    ------
    BadInput
        If the model cannot be read, or an option is not known.
    """
    limits = _limits(time_limit, node_limit, seed)
    called = name if isinstance(model, bytes) else str(model)
    with observing(progress), stage(f"planning the arena of {Path(called).name}"):
        read = _read(model, called)
        answer = plan_arena(read, Path(called).name, packer, limits)
    return Arena(answer, read.data)


@checked
def split_arena(
    model: str | Path | bytes,
    *,
    sram: int | str,
    psram: int | str,
    chip: ChipSource | None = None,
    packer: str = PACKING_PACKER,
    time_limit: float | TimeLimit | None = None,
    node_limit: int | None = None,
    seed: int = 0,
    name: str = "model.tflite",
    progress: Progress | None = None,
) -> SplitArena:
    """Return which tensors of an arena lie in SRAM and which in Psram, so that Psram costs the least.

    Parameters
    ----------
    model
        A .tflite file, or its contents.
    sram, psram
        Bytes of each memory for tensors and memory of kernels, or sizes such as ``"256KiB"``.
    chip
        The chip whose model gives the price of an access to Psram in cycles; bytes count if None.
    packer, time_limit, node_limit, seed, name, progress
        As for ``arena``; the nodes hold for each packing of a memory.

    Raises
    ------
    BadInput
        If the model cannot be read, or an option is not known.
    DoesNotFit
        If no plan fits; TimeIsOver if none was found within the limits.
    """
    limits = _limits(time_limit, node_limit, seed)
    spaces = parse_bytes(sram), parse_bytes(psram)
    on = None if chip is None else target_chip(chip)
    called = name if isinstance(model, bytes) else str(model)
    with observing(progress), stage(f"planning the arena of {Path(called).name} in two memories"):
        read = _read(model, called)
        return SplitArena(plan_split_arena(read, Path(called).name, spaces, on, packer, limits))


def _limits(limit: float | TimeLimit | None, node_limit: int | None, seed: int) -> Limits:
    limit = search_limit(limit, node_limit, seed, ARENA_SECONDS)
    return Limits(limit.seconds, node_limit, seed, deadline=limit.deadline)


def _read(model: str | Path | bytes, called: str) -> TfliteModel:
    where = Place(called)
    return parse_model(model, where) if isinstance(model, bytes) else read_model(Path(model), where)
