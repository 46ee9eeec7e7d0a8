"""Cascades in differences, comparisons and on several cores."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.comparison.run import Contenders, compare_program
from chipmodel.errors import BadInput
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.files.document import document
from chipmodel.files.text_file import json_text
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from reports.compare import page as page_of
from reports.diff.difference import compare_results
from reports.result_file import read_result
from reports.run.document import document as result_document
from reports.run.figures import timeline
from reports.run.page import render_page
from tests.reports.cascade_sample import INSIDE, NAME, ON_CORES, cascaded, cascaded_on_cores
from tests.reports.console import printed
from workloads.load import load


def test_a_difference_names_the_cascades_that_appeared() -> None:
    texts = [json_text(result_document(cascaded(cascade=each))) for each in ("off", ",".join(INSIDE))]
    a, b = (read_result(text, "x.json") for text in texts)
    assert [(s.name, s.a, s.b) for s in compare_results(a, b).settings if s.name == "cascades"] == [
        ("cascades", "none", NAME)
    ]
    older = json.loads(texts[0])
    del older["cascades"]
    assert read_result(json.dumps(older), "x.json").settings["cascades"] == "none"


@pytest.mark.parametrize(("cascade", "count"), [("off", 0), (",".join(INSIDE), 1)])
def test_a_comparison_counts_the_cascades_of_each_streamer(cascade: str, count: int) -> None:
    result = cascaded()
    request = PlanRequest(result.program, result.chip, packer="large-first", cascade=cascade)
    found = compare_program(request, {}, Contenders(streamers=("sync", "ping-pong")))
    assert [len(row.cascades or ()) for row in found.streamed] == [count, count]
    rows: Any = document(found)["streamers"]
    assert [row["cascades"] for row in rows] == [[NAME] * count] * 2
    text = printed(page_of(found))
    assert ("cascades fits" in " ".join(text.split())) == bool(count)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_each_core_has_its_cascades_in_every_output() -> None:
    result = cascaded_on_cores()
    assert [[each.ops for each in plan.schedule.cascades] for plan in result.cores] == [[o] for o in ON_CORES]
    names = [f"{ops[0]}..{ops[-1]}" for ops in ON_CORES]
    found: Any = result_document(result)
    assert [(each["core"], each["name"]) for each in found["cascades"]] == [*enumerate(names)]
    bands: Any = timeline(result).figure["data"]
    assert [*zip(bands[-1]["y"], bands[-1]["text"], strict=True)] == [
        (f"cascades {core}", name) for core, name in enumerate(names)
    ]
    page = render_page(result)
    assert all(f"<summary>{name}</summary>" in page for name in names)
    (note,) = result.notes[len(result.program.notes) :]
    assert note.startswith("the DMA engine, which all cores share, ")


def test_the_plan_of_several_cores_is_verified_and_computes() -> None:
    result = cascaded_on_cores()
    plan = plan_of(result, "alif-e7", ("shared_memory.bytes=64KiB", "cores=2"))
    again = read_plan(write_plan(plan), "plan.json")
    assert again == plan
    assert [[each.ops for each in core.cascades] for core in again.cores] == [[ops] for ops in ON_CORES]
    assert verify_file(result.program, again, result.chip) == ()
    members = tuple(each for core in again.cores for each in core.cascades)
    streams = [core.commands for core in again.cores]
    [verdict] = check_paths(PlanRun(result.program, streams, result.capacity, members), {})
    assert not verdict.faults


def test_names_must_be_neighbours_on_one_core() -> None:
    result = cascaded_on_cores()
    request = PlanRequest(result.program, result.chip, "large-first", "ping-pong", cascade="v4,a1")
    with pytest.raises(BadInput, match="not neighbours in one body: v4") as refusal:
        run(request)
    assert "on several cores those of one core" in str(refusal.value)
    with pytest.raises(BadInput, match="names 'v9', which is not an op") as refusal:
        run(replace(request, cascade="v9"))
    assert str(refusal.value).split(" are ")[1].startswith(", ".join(op.name for op in request.program.ops()))


@pytest.mark.slow
def test_the_sums_of_a_pooling_in_a_cascade_are_in_every_output() -> None:
    """They are no tensor of the network: its result raised KeyError."""
    chip = load_chip("alif-e7", ["shared_memory.bytes=15072"])
    result = run(PlanRequest(reuse(load("zoo:resnet8"), "all"), chip, cascade="auto"))
    assert any("avgpool" in plan.ops for plan in result.schedule.cascades)
    assert "avgpool.sums" in json_text(result_document(result))
    assert "avgpool.sums" in render_page(result)
