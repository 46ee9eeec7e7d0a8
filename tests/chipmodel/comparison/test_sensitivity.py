"""Numbers of a chip varied: what ended early is not ranked, and a known plan is not beaten by a worse one."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from chipmodel.answers.result import Result
from chipmodel.answers.sensitivity import CUT_SHORT, SensitivityAnswer
from chipmodel.comparison.sensitivity import sensitivity
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.sensitivity import headline
from workloads.load import load

CHIP = load_chip("luna-arcs")
REQUEST = PlanRequest(load("zoo:dnn_kws"), CHIP, "large-first", "prefetch-greedy")


def answered(plan: Callable[[Chip], Result], cut_short: Callable[[], bool]) -> SensitivityAnswer:
    return sensitivity(
        plan, CHIP, Fraction(1, 5), ("shared_memory.bytes", "core_mhz"), lambda _: None, cut_short
    )


def test_runs_that_ended_early_are_marked_and_not_ranked() -> None:
    runs: list[Chip] = []

    def plan(chip: Chip) -> Result:
        runs.append(chip)
        return run(replace(REQUEST, chip=chip, streamer="prefetch-greedy" if len(runs) == 1 else "sync"))

    found = answered(plan, lambda: len(runs) > 0)
    assert len(runs) == 1
    assert (
        {each.less.reason for each in found.fields}
        == {each.more.reason for each in found.fields}
        == {CUT_SHORT}
    )
    assert all(each.span(found.milliseconds) == 0 for each in found.fields)
    assert headline(found).endswith("2 of 2 numbers were not varied to the end.")


def test_more_memory_keeps_the_plan_that_is_known_where_the_new_one_is_slower() -> None:
    found = answered(
        lambda chip: run(replace(REQUEST, chip=chip, streamer="prefetch-greedy" if chip == CHIP else "sync")),
        lambda: False,
    )
    memory = next(each for each in found.fields if each.field == "shared_memory.bytes")
    worse = run(replace(REQUEST, streamer="sync")).trace.cycles
    assert CHIP.milliseconds(worse) > found.milliseconds == memory.more.milliseconds
