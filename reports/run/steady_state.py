"""A run of many inferences in figures: the first, every further one, what stays, what is moved each time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from chipmodel.model.program import Loop, Op, ops
from chipmodel.model.result import Result
from chipmodel.model.schedule import StepLoop, steps
from chipmodel.passes.steady_state import LOOP, inferences_of
from reports.words import count, duration, percent, ratio, shortened, size


@dataclass(frozen=True, slots=True)
class Steady:
    """Cycles of the core clock. The further one is the last: from the end of the one before to its own."""

    inferences: int
    first_cycles: int
    further_cycles: int
    per_second: float
    staying: dict[str, int]
    """Bytes of weights that stay for all inferences, by op."""
    moved: dict[str, int]
    """Bytes that the last inference moves, by the kind of the DMA engine's events."""

    @property
    def staying_bytes(self) -> int:
        return sum(self.staying.values())


def steady_of(result: Result) -> Steady | None:
    """The figures of ``result``; None where it does not run several inferences."""
    if result.program.inferences == 1 or inferences_of(result.program, result.trace.path) < 2:
        return None
    ends = inference_ends(result)
    further = ends[-1] - ends[-2]
    moved: Counter[str] = Counter()
    for event in result.trace.of("dma"):
        if not event.cause and ends[-2] <= event.start < ends[-1]:
            moved[event.kind] += event.bytes
    return Steady(
        inferences=len(ends),
        first_cycles=ends[0],
        further_cycles=further,
        per_second=float(result.chip.core_mhz) * 1e6 / further if further else 0.0,
        staying=_staying(result),
        moved=dict(sorted(moved.items())),
    )


def inference_ends(result: Result) -> list[int]:
    """The cycle at which each inference ends: its last op has computed, and what was to be stored at once is
    stored. The last one ends with the run."""
    body = next(node for node in result.program.body if isinstance(node, Loop)).body
    last = [node.name for node in body if isinstance(node, Op)][-1]
    position = max(step.position for step in steps(result.schedule.body) if step.op == last)
    ends: list[int] = []
    behind = False
    for event in result.trace.of("npu"):
        if event.position == position and not event.cause:
            ends.append(event.stop)
            behind = True
        elif behind and event.cause == "output":
            ends[-1] = event.stop
        else:
            behind = False
    return [*ends[:-1], result.trace.cycles]


def _staying(result: Result) -> dict[str, int]:
    loop = next(node for node in result.schedule.body if isinstance(node, StepLoop) and node.name == LOOP)
    inside = {step.position for step in steps(loop.body)}
    kept: Counter[str] = Counter()
    for transfer in result.schedule.transfers:
        if transfer.part.weights and transfer.due in inside and not inside & {*transfer.issues}:
            kept[transfer.part.name] += transfer.bytes
    return {op.name: kept[op.name] for op in ops(result.program.body) if kept[op.name]}


def steady_document(result: Result) -> dict[str, object]:
    """For the JSON document: nothing of a single inference."""
    found = steady_of(result)
    if found is None:
        return {}
    blocks = {op.name: result.program.block_bytes(op) for op in ops(result.program.body)}
    return {
        "steady_state": {
            "inferences": found.inferences,
            "first_cycles": found.first_cycles,
            "further_cycles": found.further_cycles,
            "inferences_per_second": found.per_second,
            "staying_bytes": found.staying_bytes,
            "staying": [
                {"op": op, "bytes": kept, "of_bytes": blocks[op]} for op, kept in found.staying.items()
            ],
            "moved_bytes": found.moved,
        }
    }


def steady_rows(result: Result) -> list[tuple[str, str, str, str]]:
    """Label, number, unit and remark of each figure."""
    found = steady_of(result)
    if found is None:
        return []
    weights, tensors, stored = (
        found.moved.get(kind, 0) for kind in ("load weights", "load tensor", "store tensor")
    )
    each = f"{duration(result.chip, found.further_cycles)}, {found.per_second:,.1f} a second"
    share = percent(ratio(found.staying_bytes, result.program.weight_bytes))
    return [
        ("first inference", count(found.first_cycles), "cycles", duration(result.chip, found.first_cycles)),
        ("every further one", count(found.further_cycles), "cycles", each),
        ("weights that stay", count(found.staying_bytes), "B", f"{share} of all, for all inferences"),
        (
            "loaded each time",
            count(weights + tensors),
            "B",
            f"{size(weights)} weights, {size(tensors)} tensors",
        ),
        ("stored each time", count(stored), "B", ""),
    ]


def staying_words(result: Result) -> str:
    """The ops whose weights stay, those that stay in part with their share; empty for none."""
    found = steady_of(result)
    if found is None:
        return ""
    blocks = {op.name: result.program.block_bytes(op) for op in ops(result.program.body)}
    names = (
        op if kept >= blocks[op] else f"{op} ({percent(ratio(kept, blocks[op]))})"
        for op, kept in found.staying.items()
    )
    return shortened(tuple(names))
