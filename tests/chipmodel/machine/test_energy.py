"""The energy of a run: each number times what an independent count of the run gives."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.hardware.energy import COUNTED, STATIC
from chipmodel.machine.energy import RunEnergy, result_energy
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.totals import RunTotals, run_totals
from tests.support.narrowed import some
from workloads.load import load

SUPPLY = (
    *("energy.model=counted", "energy.volts=1", "energy.nominal_volts=1", "energy.static_mw=0"),
    *(f"energy.pj.{key}=0" for key in COUNTED),
)
NETWORKS = ("zoo:ds_cnn", "zoo:gru_decoder")


@cache
def simulated(workload: str, preset: str = "luna-arcs", cores: int = 1) -> Result:
    streamer = "vendor" if preset == "gap9" else "ping-pong"
    chip = load_chip(preset, [f"cores={cores}"])
    return run(PlanRequest(load(workload), chip, "large-first", streamer), {})


def energy_with(result: Result, *settings: str) -> RunEnergy:
    """The energy of a run on a chip where nothing but the settings takes any."""
    chip = with_overrides(result.chip, [*SUPPLY, *(f"energy.{each}" for each in settings)])
    return some(result_energy(replace(result, chip=chip)))


COUNTS: dict[str, Callable[[RunTotals], int]] = {
    "weight_byte": lambda sums: sums.moved_bytes.get("load weights", 0),
    "loaded_byte": lambda sums: sums.moved_bytes.get("load tensor", 0),
    "stored_byte": lambda sums: sums.stored_bytes,
    "mac_int8": lambda sums: sums.executed_macs,
    "npu_cycle": lambda sums: sums.compute_cycles,
}


@pytest.mark.slow
@pytest.mark.parametrize("workload", NETWORKS)
@pytest.mark.parametrize("number", COUNTS)
def test_a_number_is_taken_as_often_as_the_report_counts_it(number: str, workload: str) -> None:
    result = simulated(workload)
    energy = energy_with(result, f"pj.{number}=1")
    assert energy.microjoules * 1e6 == pytest.approx(COUNTS[number](run_totals(result)))
    assert set(energy.parts) == {COUNTED[number]}


@pytest.mark.parametrize("cores", [1, 2])
def test_the_clock_takes_energy_in_every_cycle_of_every_core(cores: int) -> None:
    result = simulated("zoo:ds_cnn", cores=cores)
    assert energy_with(result, "pj.cycle=1").microjoules * 1e6 == pytest.approx(result.trace.cycles * cores)


@pytest.mark.parametrize("cores", [1, 2])
def test_static_power_is_the_mean_power_where_nothing_else_takes_any(cores: int) -> None:
    energy = energy_with(simulated("zoo:ds_cnn", cores=cores), "static_mw=7")
    assert energy.milliwatts == pytest.approx(7)
    assert set(energy.parts) == {STATIC}


def test_an_op_reads_its_operands_and_writes_its_results_once() -> None:
    """A dense layer in one part: 640 inputs, 128 outputs, 128 x 640 weights with their biases."""
    result = simulated("zoo:autoencoder")
    program = result.program
    first = next(program.ops())
    read = energy_with(result, "pj.read_byte=1").op_microjoules(first.name)
    assert read * 1e6 == pytest.approx(640 + program.block_bytes(first))
    written = energy_with(result, "pj.written_byte=1").op_microjoules(first.name)
    assert written * 1e6 == pytest.approx(128)


def test_weights_read_in_place_take_the_energy_of_their_memory() -> None:
    """All weights of DS-CNN are read once, as no op is cut into parts of its rows."""
    chip = load_chip("alif-e7", ["weights.in_place=always"])
    result = run(PlanRequest(load("zoo:ds_cnn"), chip, "large-first", "ping-pong"), {})
    assert not run_totals(result).moved_bytes.get("load weights")
    energy = energy_with(result, "pj.weight_byte=1")
    assert energy.microjoules * 1e6 == pytest.approx(load("zoo:ds_cnn").weight_bytes)


def test_launches_are_no_computing_and_cores_are_no_engine() -> None:
    """On GAP9 the cores compute what NE16 cannot, such as DS-CNN's first convolution, of 10 x 4."""
    result = simulated("zoo:ds_cnn", "gap9")
    cycles = {op.name: op.compute_cycles for op in run_totals(result).ops}
    launch = 3700
    engine, cores = (energy_with(result, f"pj.{each}_cycle=1") for each in ("npu", "cpu"))
    assert cores.op_microjoules("conv1") * 1e6 == pytest.approx(cycles["conv1"] - launch)
    assert engine.op_microjoules("conv1") == 0
    assert engine.op_microjoules("conv2.pointwise") * 1e6 == pytest.approx(cycles["conv2.pointwise"] - launch)


@pytest.mark.parametrize("workload", NETWORKS)
def test_ops_and_causes_add_up_to_the_run(workload: str) -> None:
    energy = energy_with(simulated(workload), *(f"pj.{key}=3" for key in COUNTED), "static_mw=1")
    assert sum(energy.parts.values()) == pytest.approx(energy.microjoules)
    assert sum(map(energy.op_microjoules, energy.of_op)) == pytest.approx(energy.microjoules)


def test_a_chip_without_energy_has_none() -> None:
    assert result_energy(simulated("zoo:ds_cnn")) is None
