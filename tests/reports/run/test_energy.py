"""Energy on the terminal, in JSON and on the page, and nothing of it on a chip without."""

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
from reports.run.document import document
from reports.run.energy import energy_class, energy_rows
from reports.run.page import render_page
from tests.reports.run.test_page import printed
from workloads.load import load


@cache
def simulated(preset: str) -> Result:
    return run(PlanRequest(load("zoo:ds_cnn"), load_chip(preset), "large-first", "ping-pong"), {})


@cache
def measured(preset: str) -> Result:
    """With what measured networks say of it."""
    return simulate("zoo:ds_cnn", preset).result


def test_the_largest_parts_and_the_rest_make_the_total() -> None:
    energy = result_energy(simulated("gap9"))
    assert energy is not None
    (name, *_), error, *parts = energy_rows(measured("gap9"), energy)
    assert name == "total"
    assert error == (
        "error",
        "3.9%",
        "",
        "held out, 3 networks with tensors in SharedMemory by the board's own tool",
    )
    assert parts[-1][0] == "the rest"
    assert sum(float(value) for _, value, _, _ in parts) == pytest.approx(energy.microjoules, abs=0.02)
    assert "Energy" in printed(simulated("gap9"))


def test_the_error_of_the_energy_is_that_of_networks_of_the_class() -> None:
    assert "3.9%" in printed(measured("gap9")).partition("Energy")[2]
    found = cast("dict[str, Any]", document(measured("gap9")))["energy_measured"]
    assert (found["class"], found["networks"]) == ("tensors in SharedMemory", 3)
    assert 0.01 < found["mean_error"] < 0.02 < found["held_out_error"] < 0.04
    assert "error 3.9% (held out, 3 networks" in " ".join(render_page(measured("gap9")).split())


def test_an_energy_that_nobody_measured_has_no_error() -> None:
    result = measured("gap9")
    bare = replace(result, chip=replace(result.chip, measured_energy=()))
    assert energy_class(bare) is None
    assert document(bare)["energy_measured"] is None
    assert len(energy_rows(bare, result_energy(bare))) == len(energy_rows(result, result_energy(result))) - 1


def test_json_has_the_energy_of_the_run_by_cause_and_op() -> None:
    found = cast("dict[str, Any]", document(simulated("gap9")))
    assert sum(found["energy"].values()) == pytest.approx(found["microjoules"])
    assert sum(op["microjoules"] for op in found["ops"]) <= found["microjoules"]
    assert found["milliwatts"] == pytest.approx(found["microjoules"] / found["milliseconds"])


def test_the_page_has_a_column_a_tile_and_the_parts() -> None:
    page = render_page(simulated("gap9"))
    assert "mW in the mean" in page
    assert ">nJ<" in page
    assert "<dt>Energy</dt>" in page
