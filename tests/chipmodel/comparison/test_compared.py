"""``compare`` on several cores by streamer; a packing answered and checked: the work for many buffers."""

from dataclasses import replace
from random import Random

import pytest

from chipmodel.comparison.packing import checked_answer
from chipmodel.comparison.run import Contenders, compare_program
from chipmodel.errors import BadInput
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from solvers.core.outcome import Limits
from solvers.exact import portfolio
from tests.support.chips import LUNA_LIKE
from tests.support.folders import WORKLOADS
from tests.support.work import calls
from workloads.load import load
from workloads.packing.problem_csv import parse_packing

REQUEST = PlanRequest(load(str(WORKLOADS / "two_cores.yaml")), replace(LUNA_LIKE, cores=2), streamer="sync")


def test_streamers_are_compared_in_the_runs_of_simulate() -> None:
    (row,) = compare_program(REQUEST, {}, Contenders(streamers=("sync",))).streamed
    assert row.cycles == run(REQUEST).trace.cycles


@pytest.mark.parametrize("asked", [Contenders(("naive",)), Contenders(merges=("conflict",))])
def test_packers_and_mergers_are_of_one_memory(asked: Contenders) -> None:
    with pytest.raises(BadInput, match="the chip has 2 cores"):
        compare_program(REQUEST, {}, asked)


MOST_CALLS = 110
"""For each of 4,000 buffers, to read, pack and check them (105 measured, 128 if the planner checked too)."""


def test_many_buffers_are_read_packed_and_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "MAX_BUFFERS_IN_SEARCH", 0)

    def work(count: int) -> int:
        text = _scattered(count)
        return calls(
            lambda: checked_answer(parse_packing(text, "x.csv"), "x.csv", "exact", Limits(seconds=0.0))
        )

    work(10)  # imports what is imported where it is used
    assert work(4_000) < MOST_CALLS * 4_000


def _scattered(count: int) -> str:
    """Buffers alive from anywhere on, in no order."""
    random = Random(2)
    rows = [
        f"b{i},{start},{start + 1 + random.randrange(200)},{random.choice((64, 128, 256, 1024))}"
        for i, start in enumerate(random.randrange(count // 2) for _ in range(count))
    ]
    return "\n".join(["id,lower,upper,size", *rows])
