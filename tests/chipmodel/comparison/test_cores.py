"""``compare`` on several cores: whole runs by streamer, and no packing of one core's memory."""

from dataclasses import replace

import pytest

from chipmodel.comparison.run import Contenders, compare_program
from chipmodel.errors import BadInput
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.chips import LUNA_LIKE
from tests.support.folders import WORKLOADS
from workloads.load import load

REQUEST = PlanRequest(load(str(WORKLOADS / "two_cores.yaml")), replace(LUNA_LIKE, cores=2), streamer="sync")


def test_streamers_are_compared_in_the_runs_of_simulate() -> None:
    (row,) = compare_program(REQUEST, {}, Contenders(streamers=("sync",))).streamed
    assert row.cycles == run(REQUEST).trace.cycles


@pytest.mark.parametrize("asked", [Contenders(("naive",)), Contenders(merges=("conflict",))])
def test_packers_and_mergers_are_of_one_memory(asked: Contenders) -> None:
    with pytest.raises(BadInput, match="the chip has 2 cores"):
        compare_program(REQUEST, {}, asked)
