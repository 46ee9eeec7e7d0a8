"""SharedMemory over the steps of the whole program, arms side by side, before and after arms share memory.

The horizontal axis has positions instead of cycles, because no run takes all arms. Source of the chart: Wang
et al. 2025, Fig. 6 (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Solved
from chipmodel.model.schedule import StepNode, branches, steps
from chipmodel.records import dataclass
from reports.chart import Chart
from reports.colours import BLUE, GREEN, ORANGE, PALE, PURPLE, SKY, VERMILION
from reports.memory_chart import Category, MapBox, bytes_at, memory_chart
from reports.words import percent, ratio, size

NONE = "none"
"""The merger that gives every arm memory of its own (``solvers.branches.mergers``)."""
OUTSIDE = Category("outside", "outside of all arms", PALE)
ARMS = tuple(
    Category(f"arm{number}", f"arm {number} of an if", colour)
    for number, colour in enumerate((ORANGE, BLUE, GREEN, PURPLE, SKY, VERMILION), 1)
)
"""Arms from the sixth on share a colour."""


STEPS: Mapping[str, Any] = {"title": {"text": "step"}}


@dataclass(frozen=True, slots=True)
class ArmExtent:
    """The positions of an arm; ``index`` counts the arms of its ``if``."""

    fork: str
    name: str
    index: int
    extent: Interval


def arms_of(body: tuple[StepNode, ...]) -> Iterator[ArmExtent]:
    """Every arm that has steps, outer arms before the arms inside of them."""
    for _, node in branches(body):
        for index, arm in enumerate(node.arms):
            inside = [step.position for step in steps(arm.body)]
            if inside:
                yield ArmExtent(node.name, arm.name, index, Interval(min(inside), max(inside) + 1))


def arm_of(buffer: Buffer, arms: Sequence[ArmExtent]) -> ArmExtent | None:
    """The innermost arm that contains the whole lifetime of a buffer."""
    inmost = None
    for arm in arms:
        if buffer.live and all(
            arm.extent.start <= i.start and i.stop <= arm.extent.stop for i in buffer.live
        ):
            inmost = arm
    return inmost


def merging(result: Result) -> dict[str, Chart]:
    """The two maps by the name of their merger, with one scale; empty where nothing was merged."""
    before = result.unmerged
    if before is None:
        return {}
    top = max(before.peak, result.solved.peak, 1) * 21 // 20
    plans = {NONE: before, result.merge: result.solved}
    arms = tuple(arms_of(result.schedule.body))
    return {name: _map(result, solved, arms, top) for name, solved in plans.items()}


def saved_words(result: Result) -> str:
    """What merging saves, in a sentence; empty where nothing was merged."""
    before, after = result.unmerged, result.solved
    if before is None or not before.peak:
        return ""
    if after.peak == before.peak:
        return f"Both need {size(after.peak)}: the buffers outside of the arms determine the peak."
    share = percent(ratio(abs(before.peak - after.peak), before.peak))
    word = "less" if after.peak < before.peak else "more"
    needs = f"--merge {result.merge} needs {size(after.peak)}"
    return f"{needs}, {share} {word} than the {size(before.peak)} of --merge {NONE}."


def _map(result: Result, solved: Solved, arms: Sequence[ArmExtent], top: int) -> Chart:
    groups: dict[Category, list[MapBox]] = {category: [] for category in (OUTSIDE, *ARMS)}
    for buffer in result.problem.buffers:
        arm = arm_of(buffer, arms)
        category = OUTSIDE if arm is None else ARMS[min(arm.index, len(ARMS) - 1)]
        groups[category] += _boxes(buffer, arm, solved.plan.offsets[buffer.name])
    last = max((b.live[-1].stop for b in result.problem.buffers if b.live), default=1)
    return memory_chart(groups, Interval(0, last), top, {"peak": solved.peak}, x_axis=STEPS)


def _boxes(buffer: Buffer, arm: ArmExtent | None, offset: int) -> Iterator[MapBox]:
    at = Interval(offset, offset + buffer.bytes)
    where = "" if arm is None else f" in arm {arm.name} of {arm.fork}"
    for span in buffer.live:
        life = f"alive at steps {span.start:,} to {span.stop - 1:,}"
        yield MapBox(buffer.name, at, span, f"{where}\n{bytes_at(at)}\n{life}")
