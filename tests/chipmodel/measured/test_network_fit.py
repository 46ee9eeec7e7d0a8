"""A fit finds the numbers that made the measurements, and refuses more than they carry."""

from dataclasses import replace

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.measured.compare import MeasuredTable, read_table
from chipmodel.measured.network_fit import fit, free_numbers
from chipmodel.measured.network_prediction import NETWORKS, planned_network

BOARD = load_chip("stm32n6")
NETS = (
    *("zoo:ds_cnn", "zoo:resnet8", "zoo:mobilenetv1_025", "zoo:autoencoder", "zoo:blazeface"),
    *("zoo:mobilenetv1_025?input=64", "zoo:resnet8?input=64", "zoo:ds_cnn?input=98"),
    *("zoo:mobilenetv1_025?width=0.5", "zoo:resnet8?input=48"),
)


PORTS = "npu.read_bytes_per_cycle+npu.write_bytes_per_cycle"


def measured_on(*overrides: str) -> MeasuredTable:
    """What a board with these numbers would take."""
    board = with_overrides(BOARD, overrides)
    lines = [
        f"{net},{board.milliseconds(planned_network(net, board).cycles)!r},{net.partition('?')[0]}"
        for net in NETS
    ]
    text = "\n".join(["workload,milliseconds,family", *lines])
    return read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS})


@pytest.mark.slow
def test_it_finds_the_numbers_of_the_board() -> None:
    table = measured_on("npu.launch_cycles=5000", "npu.macs_per_cycle.int8=60")
    found = fit(table, BOARD, ("npu.launch_cycles", "npu.macs_per_cycle.int8"))
    values = {change.path: float(change.after) for change in found.changes}
    assert values == {
        "npu.launch_cycles": pytest.approx(5000, rel=0.03),
        "npu.macs_per_cycle.int8": pytest.approx(60, rel=0.05),
    }
    assert max(abs(row.relative) for row in found.after.rows) < 0.02
    assert found.held_out is not None
    assert max(abs(row.relative) for row in found.held_out.rows) < 0.1
    assert max(abs(row.relative) for row in found.before.rows) > 0.2
    assert found.chip.npu.costs.launch_cycles == int(values["npu.launch_cycles"])


def test_what_a_row_gives_is_not_fitted() -> None:
    """Four networks that writing dominates, and one that sets what writing takes."""
    board = load_chip("esp32s3", ["npu.launch_cycles=0"])
    slow = with_overrides(board, ["npu.write_bytes_per_cycle=0.1"])
    own = "npu.write_bytes_per_cycle=8"
    lines = [f"{net},{slow.milliseconds(planned_network(net, slow).cycles)!r}," for net in NETS[:5]]
    given = planned_network(NETS[5], with_overrides(board, [own])).cycles
    lines.append(f"{NETS[5]},{board.milliseconds(given)!r},{own}")
    text = "\n".join(["workload,milliseconds,set", *lines])
    found = fit(read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS}), board, free_numbers(board))
    assert [change.path for change in found.changes] == ["npu.write_bytes_per_cycle"]
    assert float(found.changes[0].after) == pytest.approx(0.1, rel=0.03)
    assert abs(found.after.rows[5].relative) < 1e-9


@pytest.mark.parametrize(
    ("free", "fault"),
    [
        (("npu.launch_cycles", "npu.macs_per_cycle.int8", PORTS), "3 numbers are too many for 10 networks"),
        (("core_mhz",), "no op depends on core_mhz"),
        (("npu.lunch_cycles",), "stm32n6 has no npu.lunch_cycles"),
        (("npu.operands",), "npu.operands is not a number to fit"),
        (("npu.window_elements_per_cycle",), "npu.window_elements_per_cycle is 0, so it is not used"),
        (("npu.launch_cycles+core_mhz",), "npu.launch_cycles+core_mhz have different values"),
    ],
)
def test_what_cannot_be_fitted_is_refused(free: tuple[str, ...], fault: str) -> None:
    text = "\n".join(["workload,milliseconds", *(f"{net},1" for net in NETS)])
    with pytest.raises(BadInput) as refusal:
        fit(read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS}), BOARD, free)
    assert refusal.value.what == fault


def test_one_family_is_refused() -> None:
    """No other one could test the fit."""
    table = measured_on("npu.launch_cycles=5000")
    rows = tuple(replace(row, cells={**row.cells, "family": "one"}) for row in table.rows)
    with pytest.raises(BadInput, match="all networks are of one family"):
        fit(MeasuredTable(table.file, table.kinds, rows), BOARD, ("npu.launch_cycles",))


def test_rows_of_one_workload_are_one_network() -> None:
    table = measured_on()
    rows = (*table.rows[:4], table.rows[3])
    with pytest.raises(BadInput, match="1 number is too many for 4 networks"):
        fit(MeasuredTable(table.file, table.kinds, rows), BOARD, ("npu.launch_cycles",))


def test_a_number_beyond_its_limit_is_not_tried() -> None:
    """Where networks take no longer than their reads, the quicker the write port the better."""
    board = load_chip("esp32s3")
    text = "\n".join(["workload,milliseconds", *(f"{net},0.001" for net in NETS)])
    table = read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS})
    with pytest.raises(BadInput, match=r"npu\.write_bytes_per_cycle runs away"):
        fit(table, board, free_numbers(board))


def test_numbers_that_a_chip_does_not_use_are_not_free() -> None:
    assert free_numbers(load_chip("corstone-320")) == ()
    assert "npu.launch_cycles" not in free_numbers(load_chip("luna-arcs"))


def test_a_network_that_cannot_be_loaded_names_its_line() -> None:
    nets = [*NETS[:4], "zoo:no_such_network"]
    text = "\n".join(["workload,milliseconds", *(f"{net},1" for net in nets)])
    with pytest.raises(BadInput) as refusal:
        fit(read_table(text, "boards.csv", None, {NETWORKS.name: NETWORKS}), BOARD, ("npu.launch_cycles",))
    assert refusal.value.where is not None
    assert (refusal.value.where.file, refusal.value.where.line) == ("boards.csv", 6)
