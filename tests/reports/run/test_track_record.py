"""What a result says beside the run: measured networks, energy, and the board's own schedule."""

from dataclasses import replace
from functools import cache
from typing import Any, cast

import pytest

from chipmodel.answers.result import Result
from chipmodel.api.simulation import simulate
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.energy import result_energy
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.vendor import with_vendor
from reports.run.document import document
from reports.run.energy import energy_rows
from reports.run.page import render_page
from reports.run.track_record import accuracy, board_rows
from reports.run.vendor import vendor_lines
from tests.reports.run.test_page import printed
from tests.reports.sample import sample
from tests.support.narrowed import some
from workloads.load import load


@cache
def found() -> Result:
    return simulate("zoo:resnet8", "stm32n6").result


def text_of(result: Result) -> str:
    return " ".join(printed(result).split())


def test_the_interval_and_the_nearest_are_beside_the_boards_own_tool() -> None:
    text = text_of(found())
    tool = text.partition(" Board's own tool ")[2].partition(" DMA and NPU ")[0]
    assert "ms expected; made for 80% of further families, from " in tool
    assert "nearest measured zoo:fdmobilenet?width=0.25" in tool
    assert "predicted 1% slower than measured" in tool
    assert "Warning: this network is outside the measured sizes: " in text.partition(" Memory ")[0]
    assert vendor_lines(replace(found(), vendor=None))[0] == ("on the board", "", "", "not known")


def test_of_a_class_with_an_interval_of_more_than_three_times_its_parts_are_what_is_known() -> None:
    """The board is not asked for a number that would be any."""
    result = found()
    assert result.record
    assert result.record.like
    far = replace(result.record.like.networks[0], family="far", measured=99.0, workload="far")
    like = replace(result.record.like, networks=(result.record.like.networks[0], far))
    unknown = replace(result, record=replace(result.record, like=like))
    (row, _) = board_rows(unknown)
    assert row[:3] == ("on the board", "", "")
    assert row[3].startswith("not known: networks with tensors in SharedMemory took ")
    assert "times as long as predicted. Computing alone takes " in row[3]
    assert "transfers alone " in row[3]
    assert cast("dict[str, Any]", document(unknown)["measured"])["board_milliseconds"] is None


def test_the_accuracy_is_that_of_the_class_beside_that_of_all_rows() -> None:
    text = accuracy(found())
    assert "own tool: mean error 9.1% over 89 published rows; 4.0% over 44 networks with tensors in" in text
    assert "; 17 numbers or choices decided by these networks. These are errors" in text
    assert "not of this plan" in text


def test_without_a_like_network_nothing_is_promised() -> None:
    result = found()
    assert result.record
    alone = replace(result, record=replace(result.record, like=None))
    assert [row[3].partition(":")[0] for row in board_rows(alone)] == ["not known", "zoo"]
    assert "of which none is of a network with tensors in SharedMemory" in accuracy(alone)
    assert cast("dict[str, Any]", document(alone)["measured"])["board_milliseconds"] is None


def test_a_chip_without_measurements_says_nothing() -> None:
    result = sample()
    assert board_rows(result) == []
    assert "measured" not in document(result)
    assert "Warning" not in printed(result)


@cache
def simulated(preset: str) -> Result:
    return run(PlanRequest(load("zoo:ds_cnn"), load_chip(preset), "large-first", "ping-pong"), {})


@cache
def measured(preset: str) -> Result:
    """With what measured networks say of it."""
    return simulate("zoo:ds_cnn", preset).result


def test_the_largest_parts_and_the_rest_make_the_total() -> None:
    energy = some(result_energy(simulated("gap9")))
    (name, *_), error, *parts = energy_rows(measured("gap9"), energy)
    assert name == "total"
    fitted = "3 numbers fitted to 3 networks with tensors in SharedMemory by the board's own tool"
    assert error == ("error", "not promised", "", f"{fitted}, too few for a further one")
    assert parts[-1][0] == "the rest"
    assert sum(float(value) for _, value, _, _ in parts) == pytest.approx(energy.microjoules, abs=0.02)
    assert "Energy" in printed(simulated("gap9"))


def test_the_error_of_the_energy_is_that_of_networks_of_the_class() -> None:
    """Three numbers were fitted to three networks, so that nothing is promised of a fourth."""
    assert "not promised" in printed(measured("gap9")).partition("Energy")[2]
    assert document(measured("gap9"))["energy_promised"] is False
    found = document(measured("gap9"))["energy_measured"]
    assert (found["class"], found["networks"]) == ("tensors in SharedMemory", 3)
    assert 0.01 < found["mean_error"] < 0.02 < found["held_out_error"] < 0.04
    assert "3 numbers fitted to 3" in render_page(measured("gap9"))


def test_json_has_the_energy_of_the_run_by_cause_and_op() -> None:
    found = document(simulated("gap9"))
    assert sum(found["energy"].values()) == pytest.approx(found["microjoules"])
    assert sum(op["microjoules"] for op in found["ops"]) <= found["microjoules"]
    assert found["milliwatts"] == pytest.approx(found["microjoules"] / found["milliseconds"])


@cache
def compared() -> Result:
    request = PlanRequest(load("zoo:resnet8"), load_chip("stm32n6"), "large-first", "ping-pong")
    return with_vendor(run(request), request)


def test_the_terminal_has_the_run_time_and_what_differs() -> None:
    first, *others = vendor_lines(compared())
    assert first[0] == "run time"
    assert "this plan takes" in first[3]
    assert "less" in first[3]
    assert "weights from flash" not in {line[0] for line in others}
    assert all(line[1] != line[3].removeprefix("here ") for line in others)
    assert "Board's own tool" in printed(compared())


def test_json_has_the_tools_plan_with_the_keys_of_a_plan() -> None:
    result = compared()
    assert result.vendor
    found = document(result)["vendor"]
    of_its_own = document(result.vendor)
    assert found.pop("cascades") == []
    assert found.items() <= of_its_own.items()
    assert "vendor" not in document(result.vendor)


def test_the_accuracy_says_whose_plan_was_measured() -> None:
    result = compared()
    assert "These are errors of that schedule (streamer vendor), which takes" in accuracy(result)
    assert result.vendor
    assert accuracy(result.vendor) == result.chip.accuracy
    of_no_board = replace(result, chip=replace(result.chip, measured=()))
    assert "These are errors" not in accuracy(of_no_board)
