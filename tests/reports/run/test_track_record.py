"""What a result says of measured networks: in words, in JSON and on the page."""

from dataclasses import replace
from functools import cache
from typing import Any, cast

from chipmodel.answers.result import Result
from chipmodel.api.simulation import simulate
from reports.run.document import document
from reports.run.page import render_page
from reports.run.track_record import accuracy, board_milliseconds, board_words
from tests.reports.run.test_page import printed
from tests.reports.sample import sample


@cache
def found() -> Result:
    return simulate("zoo:resnet8", "stm32n6").result


def text_of(result: Result) -> str:
    return " ".join(printed(result).split())


def test_the_first_lines_have_the_interval_the_nearest_and_the_warnings() -> None:
    before_memory = text_of(found()).partition(" Memory ")[0]
    assert "Expected on the board with its own tool: 0.48 to 0.658 ms (80% of 38 networks" in before_memory
    nearest = (
        "Nearest measured network: zoo:fdmobilenet?width=0.25&input=128&classes=101, predicted 1% slower"
    )
    assert f"{nearest} than measured." in before_memory
    assert "Warning: this network is outside the measured sizes: " in before_memory


def test_the_interval_is_about_the_plan_of_the_boards_own_tool() -> None:
    result = found()
    assert result.vendor
    own = simulate("zoo:resnet8", "stm32n6", streamer="vendor").result
    assert own.vendor is None
    assert board_milliseconds(own) == board_milliseconds(result)
    low, high = cast("tuple[float, float]", board_milliseconds(own))
    assert low < own.chip.milliseconds(own.trace.cycles) < high


def test_the_accuracy_is_that_of_the_class_beside_that_of_all_rows() -> None:
    text = accuracy(found())
    assert "own tool: mean error 9.2% over 81 published rows; 4.3% over 38 networks with tensors in" in text
    assert "not of this plan" in text


def test_without_a_like_network_nothing_is_promised() -> None:
    result = found()
    assert result.record
    alone = replace(result, record=replace(result.record, like=None))
    assert board_words(alone).startswith(
        "What the board takes is not known; the nearest measured network is zoo:"
    )
    assert "of which none is of a network with tensors in SharedMemory" in accuracy(alone)
    assert cast("dict[str, Any]", document(alone)["measured"])["board_milliseconds"] is None


def test_json_has_the_class_its_error_and_the_nearest() -> None:
    measured = cast("dict[str, Any]", document(found())["measured"])
    assert measured["class"] == "tensors in SharedMemory"
    assert (measured["networks"], measured["rows"]) == (38, 81)
    assert 0.04 < measured["mean_error"] < measured["held_out_error"] < 0.08
    assert measured["nearest"]["workload"].startswith("zoo:fdmobilenet")
    assert measured["warnings"] == list(cast("Any", found().record).warnings)


def test_the_page_says_it_too() -> None:
    page = render_page(found())
    assert "Expected on the board with its own tool: " in page
    assert '<p class="warning">Warning: this network is outside' in page


def test_a_chip_without_measurements_says_nothing() -> None:
    result = sample()
    assert board_words(result) == ""
    assert "measured" not in document(result)
    assert "Warning" not in printed(result)
