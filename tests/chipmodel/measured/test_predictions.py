"""Predictions for boards are those of plans by ``vendor``; causes are runs of the chip with their changes."""

from dataclasses import replace

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names, with_overrides
from chipmodel.measured.causes import board_causes, differences, tried
from chipmodel.measured.compare import MeasuredTable, compare, parts, read_table
from chipmodel.measured.network_prediction import NETWORKS, families, planned_network


@pytest.mark.parametrize("name", preset_names())
def test_every_cause_makes_another_chip_or_is_refused_in_words(name: str) -> None:
    chip = load_chip(name)

    def differs(varied: Chip, streamer: str) -> float:
        return float(streamer == "sync" or replace(varied, figures={}) != replace(chip, figures={}))

    for each in tried(differs, chip, board_causes(chip), 1.0):
        assert each.milliseconds == 1 or each.reason, each.cause


def test_causes_are_those_of_the_chip() -> None:
    words = {name: [cause.words for cause in board_causes(load_chip(name))] for name in preset_names()}
    assert "the flash has a quarter of its data lines" in words["stm32n6"]
    assert not any("flash" in each for each in words["luna-arcs"])
    assert "the runtime has the kernels of esp-nn" in words["esp32s3"]
    assert not any("instead of the NPU" in each for each in words["esp32s3"])


def test_groups_of_another_chip_make_it_together() -> None:
    """All groups taken at once are the other chip."""
    ours, theirs = load_chip("stm32n6"), load_chip("gap9")
    together = [change for cause in differences(ours, theirs) for change in cause.changes]
    made = with_overrides(ours, together)
    same = ("core_mhz", "shared_memory", "psram", "dma", "npu", "weights", "compiled", "vendor", "cores")
    assert [getattr(made, name) for name in same] == [getattr(theirs, name) for name in same]
    assert list(differences(ours, ours)) == []


def test_the_nearest_comes_first_and_refusals_last() -> None:
    chip = load_chip("luna-arcs")

    def time(varied: Chip, streamer: str) -> float:
        if streamer == "sync":
            raise BadInput("no overlap to lose", hint="")
        return float(300 / varied.core_mhz)

    found = tried(time, chip, board_causes(chip), 4.2)
    assert found[0].cause.changes == ("core_mhz=75",)
    assert found[0].milliseconds == 4
    assert (found[-1].milliseconds, found[-1].reason) == (None, "no overlap to lose")
    assert [each.factor(4.2) for each in found] == sorted(each.factor(4.2) for each in found)


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
