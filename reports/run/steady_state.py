"""Figures of many inferences: cycles of the first and of each further one, resident weights, traffic."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from chipmodel.answers.result import Result
from chipmodel.model.program import Loop, Op, ops
from chipmodel.model.schedule import StepLoop, steps
from chipmodel.records import dataclass
from chipmodel.rewrites.steady_state import LOOP, inferences_of
from reports.run.cascade_totals import block_bytes
from reports.run.totals import loaded_words
from reports.terminal_table import FigureRow
from reports.words import count, duration, percent, ratio, shortened


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Figures of a run of several inferences, in cycles of the core clock."""

    inferences: int
    first_cycles: int
    further_cycles: int
    """Cycles of the last inference, from the end of the one before to its own."""
    per_second: float
    resident: dict[str, int]
    """Bytes of weights that stay in SharedMemory for all inferences, by op."""
    moved: dict[str, int]
    """Bytes that the last inference moves, by the kind of the DMA event."""
    blocks: dict[str, int]
    """Bytes of all weights, by op."""
    KEYS: ClassVar = (
        *("inferences", "first_cycles", "further_cycles", "inferences_per_second=per_second"),
        *("resident_bytes", "resident=shares", "moved_bytes=moved"),
    )

    @property
    def shares(self) -> list[dict[str, object]]:
        """What stays of the weights of each op."""
        kept = self.resident.items()
        return [{"op": op, "bytes": some, "of_bytes": self.blocks[op]} for op, some in kept]

    @property
    def resident_bytes(self) -> int:
        return sum(self.resident.values())


def steady_of(result: Result) -> SteadyState | None:
    """The figures of ``result``; None where it does not run several inferences."""
    if result.program.inferences == 1 or inferences_of(result.program, result.trace.path) < 2:
        return None
    ends = inference_ends(result)
    further = ends[-1] - ends[-2]
    moved: Counter[str] = Counter()
    for event in result.trace.of("dma"):
        if not event.cause and ends[-2] <= event.start < ends[-1]:
            moved[event.kind] += event.bytes
    return SteadyState(
        inferences=len(ends),
        first_cycles=ends[0],
        further_cycles=further,
        per_second=float(result.chip.core_mhz) * 1e6 / further if further else 0.0,
        resident=_resident_weights(result),
        moved=dict(sorted(moved.items())),
        blocks=block_bytes(result.program),
    )


def inference_ends(result: Result) -> list[int]:
    """The cycle at which each inference ends: its last op has computed, and the stores that it waits for are
    done. The last inference ends with the run."""
    body = next(node for node in result.program.body if isinstance(node, Loop)).body
    last = [node.name for node in body if isinstance(node, Op)][-1]
    position = max(step.position for step in steps(result.schedule.body) if step.op == last)
    ends: list[int] = []
    after_last_op = False
    for event in result.trace.of("npu"):
        if event.position == position and not event.cause:
            ends.append(event.stop)
            after_last_op = True
        elif after_last_op and event.cause == "output":
            ends[-1] = event.stop
        else:
            after_last_op = False
    return [*ends[:-1], result.trace.cycles]


def _resident_weights(result: Result) -> dict[str, int]:
    loop = next(node for node in result.schedule.body if isinstance(node, StepLoop) and node.name == LOOP)
    inside = {step.position for step in steps(loop.body)}
    kept: Counter[str] = Counter()
    for transfer in result.schedule.transfers:
        if transfer.part.weights and transfer.due in inside and transfer.issue not in inside:
            kept[transfer.part.name] += transfer.bytes
    return {op.name: kept[op.name] for op in ops(result.program.body) if kept[op.name]}


def steady_rows(result: Result) -> list[FigureRow]:
    """Rows of the terminal's table."""
    steady = steady_of(result)
    if steady is None:
        return []
    loaded = count(steady.moved.get("load weights", 0) + steady.moved.get("load tensor", 0))
    each = f"{duration(result.chip, steady.further_cycles)}, {steady.per_second:,.1f} a second"
    share = percent(ratio(steady.resident_bytes, result.program.weight_bytes))
    return [
        ("first inference", count(steady.first_cycles), "cycles", duration(result.chip, steady.first_cycles)),
        ("each further one", count(steady.further_cycles), "cycles", each),
        ("resident weights", count(steady.resident_bytes), "B", f"{share} of all weights"),
        ("loaded per inference", loaded, "B", loaded_words(steady.moved)),
        ("stored per inference", count(steady.moved.get("store tensor", 0)), "B", ""),
    ]


def resident_words(result: Result) -> str:
    """The ops whose weights are resident, with their share where it is only a part; empty for none."""
    steady = steady_of(result)
    if steady is None:
        return ""
    names = (
        op if kept >= steady.blocks[op] else f"{op} ({percent(ratio(kept, steady.blocks[op]))})"
        for op, kept in steady.resident.items()
    )
    return shortened(tuple(names))
