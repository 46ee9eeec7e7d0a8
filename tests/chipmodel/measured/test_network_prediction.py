"""Networks on boards: the prediction is that of the plan by ``vendor``, and published figures are near."""

from __future__ import annotations

from pathlib import Path

import pytest

import chipmodel.measured
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.measured.compare import MeasuredTable, compare, parts, read_table
from chipmodel.measured.network_fit import free_numbers
from chipmodel.measured.network_prediction import NETWORKS, families, planned_network

BOARD = load_chip("stm32n6")
MEASURED = Path(chipmodel.measured.__file__).parent / "tables"


def table(text: str) -> MeasuredTable:
    return read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS})


def test_mobilenet_on_the_board_of_stm32n6() -> None:
    """STMicroelectronics/stm32ai-modelzoo: 6.35 ms at 128 x 128 and 9.14 ms at 224 x 224, ImageNet head."""
    small = planned_network("zoo:mobilenetv2?width=0.35&input=128", BOARD)
    large = planned_network("zoo:mobilenetv2?width=0.35&input=224", BOARD)
    assert BOARD.milliseconds(small.cycles) == pytest.approx(6.35, rel=0.05)
    assert BOARD.milliseconds(large.cycles) == pytest.approx(9.14, rel=0.05)


def test_another_npu_on_the_same_plan_is_as_if_simulated() -> None:
    """Nothing overlaps on this board, so the plan's time with other numbers is known without a simulation."""
    network = "zoo:mobilenetv1_025"
    other = with_overrides(BOARD, ["npu.launch_cycles=20000", "npu.macs_per_cycle.int8=50"])
    assert planned_network(network, BOARD).retimed(BOARD.npu) == planned_network(network, BOARD).cycles
    assert planned_network(network, BOARD).retimed(other.npu) == planned_network(network, other).cycles


def test_rows_may_set_fields_and_have_families() -> None:
    read = table(
        "workload,milliseconds,set,family\n"
        "zoo:ds_cnn,1,core_mhz=500 npu.launch_cycles=0,small\n"
        "zoo:ds_cnn,1,core_mhz=1000 npu.launch_cycles=0,small\n"
        "zoo:autoencoder,0.5,,other\n"
    )
    compared = compare(read, BOARD)
    slow, fast, _ = (float(row.predicted) for row in compared.rows)
    assert slow > 1.5 * fast
    assert families(read.rows) == {"small": [0, 1], "other": [2]}
    assert {name: part.rows for name, part in parts(compared).items()} == {"small": 2, "other": 1}


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(BadInput) as refusal:
        compare(table("workload,milliseconds,set\nzoo:ds_cnn,1,core_mhz=quick\n"), BOARD)
    assert "core_mhz" in refusal.value.what


def test_every_table_of_a_board_names_known_networks() -> None:
    for path in MEASURED.glob("*.csv"):
        read = read_table(path.read_text(encoding="utf-8"), path.name, None, {NETWORKS.name: NETWORKS})
        assert all(row.text("workload").startswith("zoo:") for row in read.rows)
        assert "family" in read.rows[0].cells


def test_a_changed_chip_says_so() -> None:
    changed = load_chip("stm32n6", ["core_mhz=800"])
    assert changed.accuracy == f"before core_mhz was changed: {BOARD.accuracy}"
    assert load_chip("gap9-psram").accuracy == "not compared with silicon"


def test_the_networks_of_mlperf_tiny_on_gap9() -> None:
    """mlcommons/tiny_results_v1.0, GreenWaves: three networks at two clocks, one number fitted to them."""
    read = table((MEASURED / "gap9.csv").read_text(encoding="utf-8"))
    chip = load_chip("gap9")
    errors = [abs(float(row.relative)) for row in compare(read, chip).rows]
    assert max(errors) < 0.05
    assert len(free_numbers(chip)) * 5 <= len(read.rows)


def test_cycles_on_gap9_are_the_same_at_both_clocks() -> None:
    """Nothing comes from off chip: the published cycles at 240 and 370 MHz differ by 0.1 %."""
    slow = load_chip("gap9", ("core_mhz=240",))
    assert (
        planned_network("zoo:ds_cnn", slow).cycles == planned_network("zoo:ds_cnn", load_chip("gap9")).cycles
    )
