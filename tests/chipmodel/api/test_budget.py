"""Budgets: every limit is compared with what the simulation says."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import chipmodel as cm
from tests.support.command_line import Call

ALL = "{peak: PEAK, latency: 1.2, cycles: 300000, traffic: 64KiB, weights: 64KiB, psram: 64KiB}"
BUDGET = f"""\
title: Firmware
budgets:
  - name: kws
    workload: zoo:ds_cnn
    limits: {ALL}
"""


def budget(folder: Path, text: str) -> Path:
    path = folder / "budget.yaml"
    path.write_text(text)
    return path


def test_values_are_those_of_the_simulation(tmp_path: Path) -> None:
    report = cm.ci(budget(tmp_path, BUDGET.replace("PEAK", "24KiB")))
    run = cm.simulate("zoo:ds_cnn")
    facts = run.to_dict()
    values = {row["quantity"]: row["value"] for row in report.rows()}
    assert report.kept
    assert values == {
        "peak": run.peak_bytes,
        "latency": run.milliseconds,
        "cycles": run.cycles,
        "traffic": facts["loaded_bytes"] + facts["stored_bytes"],
        "weights": facts["weight_bytes"],
        "psram": facts["psram_bytes"],
    }
    assert report.headline() == "Firmware: 1 of 1 budget kept"


def test_rows_are_computed_again_as_simulate_does(tmp_path: Path) -> None:
    entry = BUDGET.replace("PEAK", "24KiB").replace("    limits", "    recompute: 1\n    limits")
    assert cm.ci(budget(tmp_path, entry)).kept
    with pytest.raises(cm.BadInput, match="recompute is for cascades, which are off"):
        cm.ci(budget(tmp_path, entry.replace("recompute: 1", "recompute: 1\n    cascade: off")))


@pytest.mark.slow
def test_a_value_may_grow_by_its_share_and_no_more(tmp_path: Path, call: Call) -> None:
    file = budget(tmp_path, BUDGET.replace("PEAK", "24KiB"))
    base = tmp_path / "base.json"
    assert call("ci", file, "--json", base)[0] == 0
    assert call("ci", file, "--against", base)[0] == 0
    document = json.loads(base.read_text())
    peak = document["budgets"][0]["limits"][0]
    now, peak["value"] = peak["value"], 100 * peak["value"] // 102 + 1
    base.write_text(json.dumps(document))
    assert now > peak["value"]
    assert call("ci", file, "--against", base, "--growth", "2")[0] == 0
    code, out, err = call("ci", file, "--against", base, "--growth", "1")
    assert code == 1
    assert "GROWN" in out
    said = f"kws: peak of {now:,} B is more than 1.0% above the {peak['value']:,} B before"
    assert err == f"over budget: {said}\n"
    document["budgets"][0]["name"] = "another"
    base.write_text(json.dumps(document))
    with pytest.raises(cm.BadInput, match="no value of any limit: peak of kws"):
        cm.ci(file, against=base)
    assert call("ci", file, "--growth", "1")[0] == 2
    with pytest.raises(cm.BadInput, match="growth is -1"):
        cm.ci(file, against=base, growth=-1.0)
    base.write_text("{}")
    assert call("ci", file, "--against", base)[0] == 2


def test_one_byte_too_many_fails_the_build(tmp_path: Path, call: Call) -> None:
    peak = cm.simulate("zoo:ds_cnn").peak_bytes
    exact = budget(tmp_path, BUDGET.replace("PEAK", str(peak)))
    assert call("ci", exact)[0] == 0
    file = budget(tmp_path, BUDGET.replace("PEAK", str(peak - 1)))
    junit, markdown = tmp_path / "b.xml", tmp_path / "b.md"
    code, out, err = call("ci", file, "--junit", junit, "--markdown", markdown, "--json", "-")
    assert code == 1
    assert f"over budget: kws: peak of {peak:,} B is above the limit of {peak - 1:,} B" in err
    document = json.loads(out)
    assert [each["kept"] for each in document["budgets"][0]["limits"]] == [False, *[True] * 5]
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "1")
    (failure,) = suite.iter("failure")
    assert f"{peak:,} B" in str(failure.get("message"))
    assert f"| kws | peak | {peak - 1:,} B | {peak:,} B |" in markdown.read_text()
    assert "| EXCEEDED |" in markdown.read_text()


def test_a_model_without_a_plan_fails_all_its_limits(tmp_path: Path, call: Call) -> None:
    text = BUDGET.replace("PEAK", "1MiB").replace("limits:", "set: {psram.bytes: 4KiB}\n    limits:")
    code, out, err = call("ci", budget(tmp_path, text))
    assert code == 1
    assert "does not fit" in err
    assert "0 of 1 budget kept" in " ".join(out.split())


@pytest.mark.parametrize(
    ("old", "new", "fault", "line"),
    [
        ("PEAK", "24kb", "24kb", 5),
        ("peak: PEAK", "peek: 1", "peek", 5),
        ("zoo:ds_cnn", "zoo:ds_cn", "ds_cn", 3),
        (
            "{peak: PEAK, latency: 1.2, cycles: 300000, traffic: 64KiB, weights: 64KiB, psram: 64KiB}",
            "{}",
            "no limit",
            5,
        ),
    ],
)
def test_a_mistake_is_at_its_line(tmp_path: Path, old: str, new: str, fault: str, line: int) -> None:
    file = budget(tmp_path, BUDGET.replace(old, new).replace("PEAK", "1KiB"))
    with pytest.raises(cm.BadInput, match=fault) as caught:
        cm.ci(file)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (str(file), line)


def test_an_energy_may_be_limited_where_the_chip_file_says_it(tmp_path: Path) -> None:
    limit = "budgets: [{workload: zoo:ds_cnn, chip: gap9, limits: {energy: 0.5}}]"
    (row,) = cm.ci(budget(tmp_path, limit)).rows()
    assert row["value"] == cm.simulate("zoo:ds_cnn", "gap9").to_dict()["microjoules"]
    assert (row["unit"], row["kept"]) == ("µJ", False)
