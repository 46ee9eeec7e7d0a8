from dataclasses import replace
from functools import cache
from typing import cast

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.vendor import with_vendor
from reports.run.document import document
from reports.run.page import render_page
from reports.run.track_record import accuracy
from reports.run.vendor import vendor_document, vendor_lines, vendor_rows
from tests.reports.run.test_page import printed
from workloads.load import load


@cache
def compared() -> Result:
    request = PlanRequest(load("zoo:resnet8"), load_chip("stm32n6"), "large-first", "ping-pong")
    return with_vendor(run(request), request)


def test_computing_and_waits_of_both_add_up_to_their_runs() -> None:
    total, *rows = [row for row in vendor_rows(compared()) if row.unit == "cycles"]
    assert sum(row.vendor for row in rows) == total.vendor
    assert sum(row.this for row in rows) == total.this
    assert sum(row.difference for row in rows) == total.difference < 0


def test_the_terminal_has_the_run_time_and_what_differs() -> None:
    first, *others = vendor_lines(compared())
    assert first[0] == "run time"
    assert "this plan takes" in first[3]
    assert "less" in first[3]
    same = [row.label for row in vendor_rows(compared()) if not row.difference]
    assert "weights from flash" in same
    assert not {line[0] for line in others} & set(same)
    assert "Board's own tool" in printed(compared())


def test_a_plan_as_quick_as_the_tools_says_so() -> None:
    result = compared()
    (line,) = vendor_lines(replace(result, vendor=replace(result, vendor=None)))
    assert line[3].endswith("this plan takes as long")


def test_json_has_the_tools_plan_with_the_keys_of_a_plan() -> None:
    result = compared()
    assert result.vendor
    found = cast("dict[str, object]", vendor_document(result)["vendor"])
    of_its_own = document(result.vendor)
    assert found.pop("cascades") == []
    assert found.items() <= of_its_own.items()
    assert found.items() < cast("dict[str, object]", document(result)["vendor"]).items()
    assert "vendor" not in document(result.vendor)


def test_the_accuracy_says_whose_plan_was_measured() -> None:
    result = compared()
    assert "These are errors of that schedule (streamer vendor), which takes" in accuracy(result)
    assert result.vendor
    assert accuracy(result.vendor) == result.chip.accuracy
    of_no_board = replace(result, chip=replace(result.chip, measured=()))
    assert "These are errors" not in accuracy(of_no_board)


def test_the_page_has_both_plans() -> None:
    page = render_page(compared())
    assert "The board's own tool" in page
    assert f"{compared().trace.cycles:,}" in page
    result = compared()
    assert "The board's own tool" not in render_page(replace(result, vendor=None))
