"""Places for buffers in the memories that ExecuTorch knows by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chipmodel.errors import DoesNotFit
from chipmodel.executorch.storage import ExecutorchMemory, SharedStorage
from chipmodel.model.plan import Buffer, Plan, Problem, Solved, Status
from chipmodel.records import dataclass
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.bounds import largest_live_set
from solvers.core.outcome import Limits
from solvers.heuristics.executorch_greedy import executorch_greedy
from solvers.memory_choice import choose_memories
from solvers.registry import packer_named, solve

DEFAULT_MEMORY = 1
"""Where ExecuTorch's own planners put a tensor that has no ``mem_id``."""


class WrongPlacement(Exception):
    """A plan that does not hold: a fault of chipmodel, never of the user."""


@dataclass(frozen=True, slots=True)
class StoragePlace:
    """Where a buffer lies. Those of a memory that overlap, directly or through others, have one
    ``object_id``, as ExecuTorch's verifier wants it."""

    mem_id: int
    offset: int
    object_id: int


@dataclass(frozen=True, slots=True)
class ExecutorchAnswer:
    """The plan of one method, submodules included.

    ``sizes`` has the bytes of each memory by ``mem_id`` (0 is for constants), and no plan with the same
    tensors in each memory has less than ``lower_bounds``. ``spilled_bytes`` adds up, over all tensors that
    may lie in any memory, their bytes times the memories listed before theirs; no plan has less than
    ``spilled_bound``.
    """

    sizes: tuple[int, ...]
    lower_bounds: tuple[int, ...]
    tensors: int
    buffers: int
    """Tensors that share bytes by design, such as aliases, count once."""
    spilled_bytes: int = 0
    spilled_bound: int = 0

    @property
    def optimal(self) -> bool:
        """Whether no plan spills fewer bytes, nor takes fewer with the same tensors in each memory."""
        return self.sizes == self.lower_bounds and self.spilled_bytes == self.spilled_bound


@dataclass(slots=True)
class _Packings:
    """Buffers and their packing by ``mem_id``."""

    solved: dict[int, tuple[Problem, Solved]]
    spilled: tuple[int, int] = (0, 0)


def placed(
    storages: Sequence[SharedStorage],
    memories: Sequence[ExecutorchMemory],
    padding: int,
    packer: str,
    limits: Limits | None,
) -> tuple[list[StoragePlace], ExecutorchAnswer]:
    """Place all buffers, each memory that is used ending with ``padding`` bytes, and check the plan.

    Raises BadInput for an unknown packer, DoesNotFit, and WrongPlacement for a packer's plan that does not
    hold.
    """
    known = {memory.mem_id for memory in memories}
    packings = _Packings({})
    fixed: dict[int, list[Buffer]] = {}
    for each in storages:
        home = each.mem_id or (None if memories else DEFAULT_MEMORY)
        if home is not None and home not in known:
            fixed.setdefault(home, []).append(each.buffer)
    for mem_id, buffers in fixed.items():
        packings.solved[mem_id] = _smallest(Problem(tuple(buffers)), packer, limits)
    if memories:
        rest = [storage for storage in storages if storage.mem_id is None or storage.mem_id in known]
        _choose(packings, rest, memories, padding, packer, limits)
    for problem, solved in packings.solved.values():
        if faults := check_fast(problem, solved.plan):
            raise WrongPlacement(f"the plan of packer {solved.planner!r} is wrong: {faults[0]}")
    return _joined(storages, memories, packings, padding)


def _smallest(problem: Problem, packer: str, limits: Limits | None) -> tuple[Problem, Solved]:
    """The packer's plan, or ExecuTorch's own where that is smaller."""
    solved = solve(problem, packer, limits)
    own = executorch_greedy(problem)
    if own.peak(problem) < solved.peak or (problem.buffers and not solved.plan.offsets):
        peak = own.peak(problem)
        status: Status = "optimal" if peak == solved.lower_bound else "feasible"
        solved = replace(solved, plan=own, peak=peak, status=status, planner="ExecuTorch's greedy")
    return problem, solved


def _choose(
    packings: _Packings,
    storages: Sequence[SharedStorage],
    memories: Sequence[ExecutorchMemory],
    padding: int,
    packer: str,
    limits: Limits | None,
) -> None:
    """Choose a memory for every buffer, and pack each memory."""
    index = {memory.mem_id: number for number, memory in enumerate(memories)}
    buffers = [storage.buffer for storage in storages]
    allowed = {
        storage.buffer.name: [index[storage.mem_id]] for storage in storages if storage.mem_id is not None
    }
    spaces = [max(0, memory.bytes - padding) for memory in memories]
    limits = limits or packer_named(packer).limits or Limits()
    chosen = choose_memories(buffers, spaces, allowed, packer, limits)
    if buffers and not chosen.memory_of:
        raise _does_not_fit(buffers, memories, padding, chosen.infeasible)
    for number, (memory, solved) in enumerate(zip(memories, chosen.solved, strict=False)):
        if inside := tuple(b for b in buffers if chosen.memory_of[b.name] == number):
            packings.solved[memory.mem_id] = Problem(inside, spaces[number]), solved
    packings.spilled = chosen.cost, chosen.lower_bound


def _does_not_fit(
    buffers: Sequence[Buffer], memories: Sequence[ExecutorchMemory], padding: int, proven: bool
) -> DoesNotFit:
    alive = largest_live_set(Problem(tuple(buffers))).bytes or 0
    sizes = ", ".join(f"{memory.name} {memory.bytes:,} B" for memory in memories)
    padded = f", each less {padding} B of padding" if padding else ""
    verdict = "no plan fits" if proven else "no plan was found that fits"
    largest = max(b.bytes for b in buffers)
    what = (
        f"{verdict}: {alive:,} B are alive together, the largest tensor has {largest:,} B; there are {sizes}"
    )
    hint = "give a memory more bytes or list another" + ("" if proven else ", or raise the limits")
    return DoesNotFit(what + padded, hint=hint)


def _joined(
    storages: Sequence[SharedStorage], memories: Sequence[ExecutorchMemory], packings: _Packings, padding: int
) -> tuple[list[StoragePlace], ExecutorchAnswer]:
    highest = max([DEFAULT_MEMORY, *packings.solved, *(memory.mem_id for memory in memories)])
    sizes, bounds = [0] * (highest + 1), [0] * (highest + 1)
    places: dict[str, StoragePlace] = {}
    for mem_id, (problem, solved) in sorted(packings.solved.items()):
        sizes[mem_id] = solved.plan.peak(problem) + padding
        bounds[mem_id] = solved.lower_bound + padding
        for name, number in _objects(problem, solved.plan, len(places)).items():
            places[name] = StoragePlace(mem_id, solved.plan.offsets[name], number)
    tensors = sum(len(storage.specs) for storage in storages)
    answer = ExecutorchAnswer(tuple(sizes), tuple(bounds), tensors, len(storages), *packings.spilled)
    return [places[storage.buffer.name] for storage in storages], answer


def _objects(problem: Problem, plan: Plan, first: int) -> Mapping[str, int]:
    """A number from ``first`` on for each buffer, the same for those that overlap."""
    object_of: dict[str, int] = {}
    number, end = first - 1, -1
    for buffer in sorted(problem.buffers, key=lambda b: (plan.offsets[b.name], b.bytes)):
        at = plan.offsets[buffer.name]
        if at >= end:
            number += 1
        object_of[buffer.name] = number
        end = max(end, at + buffer.bytes)
    return object_of
