"""The arena of TensorFlow Lite Micro: what the runtime asks memory for, and how it may be laid out."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.model.plan import Status


@dataclass(frozen=True, slots=True)
class ArenaRequest:
    """Bytes that the runtime plans in the head of the arena.

    ``first`` and ``last`` are the runtime's allocation scopes, both included: a scope for each operator, and
    one for each subgraph that an operator runs. ``tensor`` is the number among all tensors of the model, None
    for memory that a kernel asks for when it is prepared, which has no place in an offline plan.
    """

    name: str
    bytes: int
    first: int
    last: int
    tensor: int | None


@dataclass(frozen=True, slots=True)
class ArenaAnswer:
    """The head of a model's arena by the runtime's own planner and by ours, in bytes.

    ``offsets`` has an entry for each tensor of the model: its offset in the head, or -1 where the runtime is
    to decide or the tensor is none of the head's; it is empty where some kernel is ``unknown``.
    ``head_bytes`` is what the runtime then takes, the memory of its kernels included, and no plan takes less
    than ``lower_bound``."""

    source: str
    requests: tuple[ArenaRequest, ...]
    offsets: tuple[int, ...]
    runtime_bytes: int
    head_bytes: int
    lower_bound: int
    status: Status
    planner: str
    tail_estimate: int
    """Bytes of the part that stays for good, on a processor of 32 bits: an estimate."""
    unknown: tuple[str, ...] = ()
    """Operators whose kernels may ask for memory that is not known here."""

    @property
    def scratch_bytes(self) -> int:
        """The most memory that kernels ask for at one operator."""
        by_scope: dict[int, int] = {}
        for each in self.requests:
            if each.tensor is None:
                by_scope[each.last] = by_scope.get(each.last, 0) + each.bytes
        return max(by_scope.values(), default=0)
