"""What lies in further memories of a chip, and what is moved between any two memories: words and rows."""

from __future__ import annotations

from chipmodel.answers.result import Result
from chipmodel.files.document import document
from chipmodel.model.fit import MemoryNeed
from chipmodel.model.schedule import PSRAM, SHARED, WEIGHTS, ends_of
from reports.terminal_table import FigureRow
from reports.words import count, percent, ratio, weight_memory


def memories_document(result: Result) -> dict[str, object]:
    """Return what a result file says of further memories; nothing on a chip without any."""
    if not result.chip.memories:
        return {}
    parts = memory_parts(result)
    rows = [document(need) | {"holds": parts[need.memory]} for need in result.fit.further]
    moved = moved_between(result).items()
    between = [{"from": a, "to": b, "bytes": each, "cycles": cycles} for (a, b), (each, cycles) in moved]
    return {"memories": rows, "moved_between": between}


def memory_rows(result: Result) -> list[FigureRow]:
    """Return how full each further memory is."""

    def used(need: MemoryNeed) -> str:
        return f"{percent(ratio(need.bytes, need.capacity_bytes))} of {count(need.capacity_bytes)} B"

    return [(need.memory, count(need.bytes), "B", used(need)) for need in result.fit.further]


def moved_rows(result: Result) -> list[FigureRow]:
    """Return the bytes between any two memories of a chip that has further ones, and what they take."""
    if not result.chip.memories:
        return []
    names = {SHARED: "SharedMemory", PSRAM: "Psram", WEIGHTS: weight_memory(result)}
    return [
        (f"{names.get(a, a)} to {names.get(b, b)}", count(each), "B", f"{count(cycles)} cycles")
        for (a, b), (each, cycles) in moved_between(result).items()
    ]


def memory_parts(result: Result) -> dict[str, list[str]]:
    """Return what each further memory holds at some time: tensors, and ops whose weights lie there."""
    parts_of: dict[str, set[str]] = {memory.name: set() for memory in result.chip.memories}
    schedule = result.schedule
    homes = [(transfer.memory, transfer.part) for transfer in schedule.transfers]
    homes += [(move.memory, move.part) for move in schedule.moves]
    for memory, part in homes:
        if memory in parts_of:
            parts_of[memory].add(f"weights of {part.name}" if part.weights else part.name)
    return {name: sorted(parts) for name, parts in parts_of.items()}


def moved_between(result: Result) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the bytes and DMA cycles of a run by memories that a transfer goes from and to."""
    own = WEIGHTS if result.chip.weights else PSRAM
    traffic = result.schedule.traffic
    moved: dict[tuple[str, str], tuple[int, int]] = {}
    for event in result.trace.events:
        if event.unit == "dma" and not event.cause:
            source, target = ends_of(traffic[event.name])
            ends = own if source == WEIGHTS else source, target
            size, cycles = moved.get(ends, (0, 0))
            moved[ends] = size + event.bytes, cycles + event.worked
    return dict(sorted(moved.items()))
