"""Changed constants are recovered from the measurements."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.calibration import calibrate, chip_text
from chipmodel.measured.compare import MeasuredTable, read_table
from chipmodel.timing.transfer import transfer_cycles
from tests.support.folders import HARDWARE

TABLES = HARDWARE


def table(name: str) -> MeasuredTable:
    return read_table((TABLES / f"{name}.csv").read_text(), name)


def dma_table(chip_name: str, overrides: list[str]) -> MeasuredTable:
    """A table of what another chip would measure on its two Psram routes."""
    chip = load_chip(chip_name, overrides)
    rows = ["route,bytes,core_cycles"]
    for size in (256, 1000, 4096, 20000, 65536):
        rows.append(f"dma psram->shared,{size},{transfer_cycles(chip, 'load', size)}")
        rows.append(f"dma shared->psram,{size},{transfer_cycles(chip, 'store', size)}")
    return read_table("\n".join(rows) + "\n", "measured.csv")


def test_a_lines_constants_are_recovered() -> None:
    truth = ["dma.load.setup_cycles=321", "dma.load.burst_overhead_clocks=17.5", "dma.store.setup_cycles=77"]
    found = calibrate(dma_table("gap9-psram", truth), "gap9-psram")
    values = {change.path: float(change.after) for change in found.changes}
    assert values["dma.load.setup_cycles"] == pytest.approx(321, abs=2)
    assert values["dma.load.burst_overhead_clocks"] == pytest.approx(17.5, abs=0.1)
    assert values["dma.store.setup_cycles"] == pytest.approx(77, abs=2)
    assert max(abs(row.relative) for row in found.after.rows) < 0.002


def test_a_controllers_constants_are_recovered() -> None:
    found = calibrate(table("rtl_ef_psram"), None, ["dma.ef_psram.frame_cycles=9"])
    assert [(c.path, int(c.before), int(c.after)) for c in found.changes] == [
        ("dma.ef_psram.frame_cycles", 9, 2)
    ]
    found = calibrate(table("rtl_hyperbus_back_to_back"), None, ["dma.hyperbus.turnaround_cycles=20"])
    assert sum(row.error != 0 for row in found.after.rows) == 2


def test_fitting_never_makes_it_worse() -> None:
    found = calibrate(table("luna_transfer"))
    before, after = (sum(row.relative**2 for row in c.rows) for c in (found.before, found.after))
    assert after <= before


def test_the_written_chip_is_the_fitted_one(tmp_path: Path) -> None:
    found = calibrate(dma_table("gap9-psram", ["dma.load.setup_cycles=500"]), "gap9-psram")
    path = tmp_path / "mine.yaml"
    path.write_text(chip_text(found, "gap9-psram", "measured.csv"))
    chip = load_chip(str(path))
    assert chip.dma == found.chip.dma
    assert chip.figures["dma.load.setup_cycles"].mark == "derived"
    assert "calibrated to measured.csv" in chip.figures["dma.load.setup_cycles"].source
    assert chip.accuracy.startswith(f"measured.csv, {len(found.after.rows)} rows: mean error 0.0")


def test_the_written_chip_keeps_the_numbers_that_the_user_gave(tmp_path: Path) -> None:
    given = ["psram.clock_mhz=120", "dma.bursts.gap_cycles=9", "shared_memory.bytes=256KiB"]
    found = calibrate(table("luna_transfer"), "luna-arcs", given)
    path = tmp_path / "mine.yaml"
    path.write_text(chip_text(found, "luna-arcs", "luna_transfer.csv"))
    chip = load_chip(str(path))
    assert (chip.psram, chip.dma) == (found.chip.psram, found.chip.dma)
    assert chip.shared_memory.bytes == 256 * 1024
    assert chip.figures["psram.clock_mhz"].mark == "given"


@pytest.mark.parametrize(
    ("name", "chip"), [("rtl_axi_cdma", None), ("luna_vector", None), ("luna_matmul", "gap9-psram")]
)
def test_a_table_without_free_constants_is_refused(name: str, chip: str | None) -> None:
    with pytest.raises(BadInput, match="has no constants to fit"):
        calibrate(table(name), chip)


def test_a_measurement_far_off_is_refused_after_few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def counted(*arguments: object) -> Chip:
        tried.append(arguments)
        return load_chip(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("chipmodel.measured.calibration.load_chip", counted)
    columns = "in_c,in_h,in_w,out_c,kernel_h,kernel_w,stride,pad_h,pad_w,cycles"
    with pytest.raises(BadInput, match="conv_configuration_cycles runs away: from 1350 to 1e"):
        calibrate(read_table(f"{columns}\n1,4,64,16,3,1,2,1,0,2147483648\n", "far.csv"))
    assert len(tried) < 2000
