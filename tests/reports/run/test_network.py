from functools import cache
from typing import Any

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.energy import result_energy
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.network import flows, network
from reports.run.page import render_page
from reports.run.totals import run_totals
from tests.reports.cascade_sample import INSIDE, cascaded
from tests.reports.pages import data_of, told
from tests.reports.run.test_cores import result as two_cores
from tests.reports.sample import EVIL, UNICODE, sample
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.load import load


def named(program: Program) -> set[tuple[str, str, str]]:
    names = [
        *(op.name for op in program.ops()),
        *program.inputs,
        *(f"out {name}" for name in program.outputs),
    ]
    return {(names[flow.maker], names[flow.reader], flow.kind) for flow in flows(program)}


def test_tensors_go_from_those_that_make_them_to_those_that_read_them() -> None:
    found = named(sample().program)
    assert {("audio", "stem", "reads"), ("stem", EVIL, "reads"), (EVIL, UNICODE, "reads")} <= found
    assert ("softmax", "out softmax", "reads") in found


def test_after_a_branch_a_tensor_comes_from_each_arm() -> None:
    found = named(sample().program)
    assert {(maker, "refine.a", "reads") for maker in ("loud.conv", "quiet.copy")} <= found
    assert ("loud.conv", "quiet.copy", "reads") not in found


def test_what_a_loop_carries_goes_back_and_then_on() -> None:
    found = named(sample().program)
    assert ("refine.b", "refine.a", "again") in found
    assert {maker for maker, reader, _ in found if reader == "mean"} == {"refine.b"}


def test_a_condition_leads_to_the_first_op_of_each_arm() -> None:
    program = load("zoo:branchynet")
    found = named(program)
    decided = {(maker, reader) for maker, reader, kind in found if kind == "decides"}
    assert decided
    assert {maker for maker, _ in decided} <= {op.name for op in program.ops()}
    assert len({reader for _, reader in decided}) == len(decided)


def test_an_arm_reads_what_another_one_wrote_only_in_the_next_iteration() -> None:
    b = ProgramBuilder("turns", source="turns.yaml")
    state = b.conv("first", b.input("image", (1, 4, 8, 8)), 4, 3, pad=1, outputs=["state"])
    with b.block() as body:
        with b.block() as left:
            b.conv("left", state, 4, 3, pad=1, outputs=["state"])
        with b.block() as right:
            b.conv("right", state, 4, 3, pad=1, outputs=["state"])
        b.add_if("side", [("left", left), ("right", right)])
    b.add_loop("turns", 2, body, carried=["state"])
    found = {each for each in named(b.build()) if each[1] == "right"}
    assert found == {("first", "right", "reads"), ("left", "right", "again")}


def test_no_tensor_comes_from_an_earlier_value() -> None:
    assert named(small_network("again")) == {
        ("image", "first", "reads"),
        ("first", "second", "reads"),
        ("second", "out second", "reads"),
    }


@cache
def small() -> Result:
    return run(PlanRequest(load("zoo:resnet8"), load_chip("gap9")))


def graph(result: Result) -> Any:
    return network(result, run_totals(result), result_energy(result))


def test_a_cascade_is_a_box_also_inside_of_a_loop() -> None:
    for iterations in (0, 2):
        drawn = graph(cascaded(iterations))
        boxes = {drawn["groups"][group] for name, _, group, *_ in drawn["ops"] if name in INSIDE}
        ((_, kind, around),) = boxes
        assert kind == "cascade"
        assert (around >= 0) == bool(iterations)


def test_values_are_those_of_the_table_and_spans_within_the_run() -> None:
    for result in (sample(), small(), two_cores()):
        drawn, sums = graph(result), run_totals(result)
        assert drawn["measures"]["stall"] == [op.stall_cycles for op in sums.ops]
        assert ("energy" in drawn["measures"]) == (result_energy(result) is not None)
        for (name, _, _, runs, start, stop), op in zip(drawn["ops"], sums.ops, strict=True):
            assert (name, runs) == (op.name, op.runs)
            assert (
                (stop - start >= op.compute_cycles)
                if runs and not result.cores
                else stop <= result.trace.cycles
            )
    quiet = next(op for op in graph(sample())["ops"] if op[0] == "quiet.copy")
    assert quiet[3:] == [0, 0, 0]


def test_marks_of_the_charts_lead_to_ops() -> None:
    for result in (small(), two_cores(), cascaded()):
        data = data_of(render_page(result, plotly="beside"))
        of = data["opsOf"]
        names = [op[0] for op in data["network"]["ops"]]
        assert set(of) == set(data["linked"])
        for chart, traces in of.items():
            for points, drawn in zip(traces, data["charts"][chart]["data"], strict=False):
                assert len(points) == len(drawn["x"])
        timeline = data["charts"]["timeline"]["data"]
        for numbers, trace in zip(of["timeline"], timeline, strict=True):
            for mark, shown in zip(numbers, told(trace), strict=True):
                if trace["name"] == "compute":
                    assert shown[0].startswith(names[mark[0]])
        memories = [m for chart in of if chart.startswith("memory") for points in of[chart] for m in points]
        assert {number for mark in memories for number in mark} >= {0, len(names) - 1}
