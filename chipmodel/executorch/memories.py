"""The memories of a device that ExecuTorch knows by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chipmodel.errors import BadInput


@dataclass(frozen=True, slots=True)
class ExecutorchMemory:
    """Memory ``mem_id`` (1 or more; 0 is for constants) with ``bytes`` for the tensors of one method."""

    name: str
    mem_id: int
    bytes: int


def checked_memories(memories: Sequence[ExecutorchMemory]) -> tuple[ExecutorchMemory, ...]:
    """The memories. Raises BadInput for two of one number or name, and for numbers and sizes below 1."""
    for number, memory in enumerate(memories):
        if memory.mem_id < 1:
            what = f"memory {memory.name!r} has mem_id {memory.mem_id}"
            raise BadInput(what, hint="numbers start at 1, as 0 is for constants")
        if memory.bytes < 1:
            raise BadInput(f"memory {memory.name!r} has {memory.bytes} bytes", hint="sizes start at 1")
        for other in memories[:number]:
            if memory.mem_id == other.mem_id or memory.name == other.name:
                raise BadInput(
                    f"memories {other.name!r} and {memory.name!r} have the same name or mem_id",
                    hint="give each its own",
                )
    return tuple(memories)
