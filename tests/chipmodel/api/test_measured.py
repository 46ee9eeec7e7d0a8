"""``validate``, ``calibrate``, ``diff``, ``arena`` and lists: the command line's answers, as values."""

import pytest

import chipmodel as cm
from tests.support.folders import ROOT

TRANSFERS = ROOT / "tests" / "data" / "hardware" / "luna_transfer.csv"
MODEL = ROOT / "workloads" / "residual.tflite"


def test_a_wrong_constant_is_fitted() -> None:
    found = cm.calibrate(TRANSFERS, overrides=["dma.bursts.setup_cycles=500"])
    before, after = found.changes["dma.bursts.setup_cycles"]
    assert before == 500
    fitted, shipped = after, float(cm.chip("luna-arcs").figures["dma.bursts.setup_cycles"].value)
    assert fitted == pytest.approx(shipped, rel=0.05)
    assert "dma" in found.chip_file()
    assert [row["field"] for row in found.rows()] == list(found.changes)
    with pytest.raises(cm.BadInput, match="for tables of networks"):
        cm.calibrate(TRANSFERS, free=["psram.clock_mhz"])


@pytest.mark.parametrize("seconds", [0, 1e-6, None])
def test_an_arena_is_planned_whenever_the_time_ends(seconds: float | None) -> None:
    limit = cm.TimeLimit(seconds)
    found = cm.arena(MODEL, packer="exact", time_limit=limit, node_limit=1000)
    assert found.bound <= found.head_bytes <= found.runtime_bytes
    assert not limit.cut_short or seconds is not None


def test_lists_name_what_the_other_functions_take() -> None:
    kinds = {each["kind"] for each in cm.planners()}
    assert kinds == {"packer", "merge", "streamer", "npu_model", "importer"}
    names = {each["name"] for each in cm.chips()}
    assert {"luna-arcs", "alif-e7"} <= names
    assert cm.load(cm.networks()[0]["name"]).macs
