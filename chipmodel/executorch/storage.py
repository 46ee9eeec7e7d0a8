"""Specs that share bytes by design, joined into the buffers of a packing problem, and a device's memories."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.errors import BadInput
from chipmodel.executorch.graphs import PlannedSpec
from chipmodel.executorch.lives import Pins, SpecLives, first_and_last
from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Buffer
from chipmodel.records import dataclass


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


@dataclass(frozen=True, slots=True, eq=False)
class SharedStorage:
    """A buffer and the specs in it, each with its offset in the buffer."""

    buffer: Buffer
    specs: tuple[tuple[PlannedSpec, int], ...]
    mem_id: int | None


def storages(lives: SpecLives, pins: Pins, alignment: int) -> list[SharedStorage]:
    """The buffers of all specs that have lives. Sets each spec's alignment.

    Raises BadInput for a spec within the bytes of one that is not planned, beyond its end or off the
    alignment, and for specs of one buffer that are to lie in different memories.
    """
    for spec in lives.positions:
        spec.realign(alignment)
    leaders = _leaders(lives, pins)
    members: dict[PlannedSpec, list[tuple[PlannedSpec, int]]] = {}
    for spec in lives.positions:
        base, offset = _base(lives, spec, alignment)
        members.setdefault(leaders.get(base, base), []).append((spec, offset))
    return [_storage(number, lives, pins, specs, alignment) for number, specs in enumerate(members.values())]


def _storage(
    number: int, lives: SpecLives, pins: Pins, specs: list[tuple[PlannedSpec, int]], alignment: int
) -> SharedStorage:
    homes = {pin for spec, _ in specs if (pin := pins.get(spec)) is not None}
    if len(homes) > 1:
        raise BadInput(
            f"specs that share bytes are to lie in memories {', '.join(map(str, sorted(homes)))}",
            hint="give them the same mem_id, or none",
        )
    size = max(offset + spec.allocated_memory for spec, offset in specs)
    live = merged(interval for spec, _ in specs for interval in lives.positions[spec])
    return SharedStorage(
        Buffer(str(number), size, live, alignment), tuple(specs), homes.pop() if homes else None
    )


def _base(lives: SpecLives, spec: PlannedSpec, alignment: int) -> tuple[PlannedSpec, int]:
    """The spec that owns the bytes of ``spec``, and the offset there."""
    base, offset = spec, 0
    seen = [spec]
    while (outer := getattr(base, "storage_base", None)) is not None:
        at, end = base.storage_base_offset, base.storage_base_offset + base.allocated_memory
        if outer in seen or outer not in lives.positions:
            wrong = "is its own base" if outer in seen else "is in one that is not planned"
        elif outer in lives.moved:
            wrong = "is in the result of a cond whose arms have other addresses"
        elif at < 0 or end > outer.allocated_memory:
            wrong = f"takes bytes {at} to {end} of one with {outer.allocated_memory}"
        elif at % alignment:
            wrong = f"begins at byte {at} of another, which is not aligned to {alignment}"
        else:
            base, offset = outer, offset + at
            seen.append(outer)
            continue
        first, last = first_and_last(spec)
        raise BadInput(
            f"a tensor of {spec.allocated_memory} bytes, alive from node {first} to {last}, {wrong}",
            hint="see storage_base and storage_base_offset of its spec",
        )
    return base, offset


def _leaders(lives: SpecLives, pins: Pins) -> dict[PlannedSpec, PlannedSpec]:
    """For each spec that is to lie at the address of others, one of them."""
    groups: dict[PlannedSpec, list[PlannedSpec]] = {}
    for specs in lives.results:
        joined = list(dict.fromkeys(each for spec in specs for each in groups.get(spec, [spec])))
        for each in joined:
            groups[each] = joined
    return {spec: group[0] for spec, group in groups.items()}
