"""The arena of TensorFlow Lite Micro."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chipmodel.answers.arena import ArenaAnswer
from chipmodel.api.answer import PageAnswer
from chipmodel.api.arguments import checked
from chipmodel.api.effort import Progress, observing
from chipmodel.api.packing import check_limits
from chipmodel.comparison.arena import plan_arena, with_arena_plan
from chipmodel.errors import Place
from chipmodel.files.atomic_write import write_atomically
from chipmodel.model.plan import Status
from chipmodel.pipeline.choices import ARENA_SECONDS, PACKING_PACKER
from chipmodel.terminal.progress import stage
from reports.arena import document, headline, render_arena
from solvers.core.outcome import Limits
from workloads.from_tflite.model_file import parse_model, read_model


@dataclass(frozen=True, slots=True, repr=False)
class Arena(PageAnswer):
    """How large an arena must be, and a plan for it. ``answer`` has every request."""

    answer: ArenaAnswer
    source: bytes
    """The model as it was."""

    @property
    def head_bytes(self) -> int:
        """The head with our plan."""
        return self.answer.head_bytes

    @property
    def runtime_bytes(self) -> int:
        """The head as the runtime's own planner lays it out."""
        return self.answer.runtime_bytes

    @property
    def bound(self) -> int:
        """Bytes that no plan of the head goes below."""
        return self.answer.lower_bound

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

    def headline(self) -> str:
        """Both sizes in a sentence."""
        return headline(self.answer)

    def to_dict(self) -> dict[str, Any]:
        """What ``chipmodel arena --json`` writes."""
        return document(self.answer)

    def to_html(self) -> str:
        """The page with sizes and offsets."""
        return render_arena(self.answer)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A request a row: tensors, and what kernels ask for."""
        return [
            {
                "name": each.name,
                "bytes": each.bytes,
                "first": each.first,
                "last": each.last,
                "tensor": each.tensor,
            }
            for each in self.answer.requests
        ]


@checked
def arena(
    model: str | Path | bytes,
    *,
    packer: str = PACKING_PACKER,
    time_limit: float | None = None,
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
        Seconds after which the search ends; 20 where neither limit is given.
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
    check_limits(time_limit, node_limit, seed)
    seconds = ARENA_SECONDS if time_limit is None and node_limit is None else time_limit
    called = name if isinstance(model, bytes) else str(model)
    with observing(progress), stage(f"planning the arena of {Path(called).name}"):
        where = Place(called)
        read = parse_model(model, where) if isinstance(model, bytes) else read_model(Path(model), where)
        answer = plan_arena(read, Path(called).name, packer, Limits(seconds, node_limit, seed))
    return Arena(answer, read.data)
