"""Cascades in differences, comparisons and on several cores."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from chipmodel.chip.chip_file import load_chip
from chipmodel.compare.run import Contenders, compare_program
from chipmodel.errors import BadInput
from chipmodel.files.json_text import json_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.compare.rows import document, print_comparison
from reports.diff.difference import compare_results
from reports.result_file import read_result
from reports.run.document import document as result_document
from tests.reports.cascade_sample import INSIDE, NAME, cascaded, cascaded_program


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
    assert [len(row.cascades) for row in found.streamed] == [count, count]
    rows: Any = document(found)["streamers"]
    assert [row["cascades"] for row in rows] == [[NAME] * count] * 2
    out = StringIO()
    print_comparison(found, Console(file=out, width=80, no_color=True))
    assert ("fits cascades" in " ".join(out.getvalue().split())) == bool(count)
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= 80


def test_several_cores_say_that_they_have_no_cascades() -> None:
    chip = replace(load_chip("alif-e7"), cores=2)
    request = PlanRequest(cascaded_program(), chip, "large-first", "ping-pong", cascade="auto")
    assert any("no cascades are planned" in note for note in run(request).notes)
    assert not run(replace(request, cascade="off")).notes
    with pytest.raises(BadInput, match="2 cores"):
        run(replace(request, cascade="first,second"))
