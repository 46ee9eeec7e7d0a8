"""Networks on boards: the prediction is that of the plan by ``vendor``."""

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.measured.compare import MeasuredTable, compare, parts, read_table
from chipmodel.measured.network_prediction import NETWORKS, families, planned_network

BOARD = load_chip("stm32n6")


def table(text: str) -> MeasuredTable:
    return read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS})


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


def test_a_changed_chip_says_so() -> None:
    changed = load_chip("stm32n6", ["core_mhz=800"])
    assert changed.accuracy == f"before core_mhz was changed: {BOARD.accuracy}"
    assert load_chip("gap9-psram").accuracy == "not compared with silicon"
