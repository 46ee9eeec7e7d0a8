import json
from dataclasses import replace
from typing import Any

import chipmodel
from chipmodel.answers.result import Result
from chipmodel.model.program import ops
from reports.run.document import document
from reports.run.totals import run_totals
from tests.reports.sample import MARKUP, UNICODE, large, sample
from tests.support.plain_check import check


def loaded(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(document(result)))
    return found


def test_the_sample_itself_is_a_sound_result() -> None:
    for result in (sample(), sample(path="quiet"), large(40)):
        assert result.trace.unaccounted() == ()
        assert check(result.problem, result.solved.plan) == ()


def test_the_sums_add_up() -> None:
    answer = loaded(sample())
    assert answer["compute_cycles"] + answer["stall_cycles"] == answer["total_cycles"]
    assert sum(answer["stalls"].values()) == answer["stall_cycles"]
    assert answer["dma_cycles"] + sum(answer["dma_idle"].values()) == answer["total_cycles"]
    listed = answer["ops"]
    assert sum(o["compute_cycles"] for o in listed) == answer["compute_cycles"]
    assert sum(o["stall_cycles"] for o in listed) == answer["stall_cycles"]
    assert sum(o["loaded_bytes"] for o in listed) == answer["loaded_bytes"]
    assert sum(o["stored_bytes"] for o in listed) == answer["stored_bytes"]
    assert answer["loaded_bytes"] + answer["stored_bytes"] == sum(answer["moved_bytes"].values())


def test_an_output_that_nothing_reads_is_not_spilled() -> None:
    """It goes to Psram in any case; it was among the spilled tensors where it does so in pieces."""
    chip = chipmodel.chip("luna-arcs", shared_memory__bytes="100KiB")
    result = chipmodel.simulate("workloads/branches.yaml", chip).result
    assert "classes" in {*result.schedule.spilled} & {*result.program.outputs}
    assert loaded(result)["spilled"] == ["middle", "near", "stem"]


def test_traffic_counts_every_iteration_of_a_loop() -> None:
    by_name = {o["name"]: o for o in loaded(sample())["ops"]}
    # 576 B of weights and bias for refine.a: 32 x 16 int8 and 16 int32, once in each of three iterations.
    assert by_name["refine.a"]["loaded_bytes"] == 3 * 576
    assert by_name["refine.a"]["compute_cycles"] == 3 * 2900
    assert by_name["refine.a"]["macs"] == 16 * 16 * 32 * 16
    assert by_name[UNICODE]["steps"] == 3
    assert by_name[MARKUP]["kind"] == "dense"


def runs_of(result: Result) -> dict[str, int]:
    return {op.name: op.runs for op in run_totals(result).ops}


def test_runs_follow_the_path() -> None:
    assert runs_of(sample())["refine.b"] == 3
    assert runs_of(sample())["quiet.copy"] == 0
    quiet = sample(path="quiet")
    assert (runs_of(quiet)["quiet.copy"], runs_of(quiet)["loud.conv"]) == (1, 0)
    fewer = replace(quiet, trace=replace(quiet.trace, path={"wake?": "quiet", "refine": "2"}))
    assert runs_of(fewer)["refine.a"] == 2
    assert run_totals(quiet).executed_macs == quiet.program.macs - 16 * 16 * 32 * 32 * 9


def test_array_utilisation_leaves_out_cycles_that_the_user_gave() -> None:
    result = large(10)
    exact = sum(op.work.macs for op in ops(result.program.body)) / 64 / result.trace.busy("npu")
    assert abs(run_totals(result).array_utilisation - exact) < 1e-12
    given = tuple(replace(op, cycles=1) for op in ops(result.program.body))
    assert run_totals(replace(result, program=replace(result.program, body=given))).array_utilisation == 0
