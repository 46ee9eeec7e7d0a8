"""``compare`` on several cores: the highest peak, a bound for it, and the fragmentation of each core."""

import json
from dataclasses import replace

from chipmodel.comparison.run import Contenders, compare_program
from chipmodel.model.live_sets import unused_bytes
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.compare.page import render_comparison
from reports.compare.rows import core_cells, document
from solvers.core.outcome import Limits
from tests.support.chips import LUNA_LIKE
from tests.support.folders import WORKLOADS
from workloads.load import load

EXAMPLE = WORKLOADS / "two_cores.yaml"
TWO = replace(LUNA_LIKE, cores=2)


def test_a_packer_has_on_each_core_the_plan_of_simulate() -> None:
    request = PlanRequest(load(str(EXAMPLE)), TWO)
    contenders = Contenders(("large-first", "naive"), ("conflict",), ("sync",), Limits(nodes=100))
    comparison = compare_program(request, {}, contenders)
    result = run(request)
    row = comparison.packed[0]
    assert [each.peak for each in row.cores] == [p.solved.peak for p in result.cores]
    assert [each.unused for each in row.cores] == [
        unused_bytes(p.problem, p.solved.plan) for p in result.cores
    ]
    assert row.peak == result.solved.peak == max(each.peak or 0 for each in row.cores)
    assert row.lower_bound <= (row.peak or 0)
    assert comparison.merged[0].peak is not None
    assert comparison.streamed[0].cycles is not None
    answer = json.loads(json.dumps(document(comparison)))
    assert [core["core"] for core in answer["packers"][0]["cores"]] == [0, 1]
    assert answer["buffers"] == sum(len(p.problem.buffers) for p in result.cores)
    assert len(core_cells(row)) == 2
    assert "core 1" in render_comparison(comparison)
