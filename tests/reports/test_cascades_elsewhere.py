"""Cascades in differences, comparisons and on several cores."""

import json
from dataclasses import replace
from typing import Any

import pytest

from chipmodel.comparison.run import Contenders, compare_program
from chipmodel.errors import BadInput
from chipmodel.files.document import document
from chipmodel.files.text_file import json_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.compare import page as page_of
from reports.diff.difference import compare_results
from reports.result_file import read_result
from reports.run.document import document as result_document
from tests.reports.cascade_sample import INSIDE, NAME, cascaded, cascaded_on_cores
from tests.reports.console import printed


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


def test_names_must_be_neighbours_on_one_core() -> None:
    result = cascaded_on_cores()
    request = PlanRequest(result.program, result.chip, "large-first", "ping-pong", cascade="v4,a1")
    with pytest.raises(BadInput, match="not neighbours in one body: v4") as refusal:
        run(request)
    assert "on several cores those of one core" in str(refusal.value)
    with pytest.raises(BadInput, match="names 'v9', which is not an op") as refusal:
        run(replace(request, cascade="v9"))
    assert str(refusal.value).split(" are ")[1].startswith(", ".join(op.name for op in request.program.ops()))
