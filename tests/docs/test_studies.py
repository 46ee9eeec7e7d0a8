"""The reports of the studies in ``bench/studies`` say what pandas finds in their rows."""

from importlib import import_module
from typing import Any

import pytest

from chipmodel.studies.study_file import read_study
from reports.words import percent
from tests.support.folders import ROOT

PANDAS: Any = import_module("pandas")
STUDIES = ROOT / "bench" / "studies"


def table_of(report: str) -> dict[str, list[str]]:
    """The cells of each planner in the first table."""
    lines = report[report.index("| planner |") :].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2 : lines.index("")]]
    return {name.replace("\\", ""): [cell.replace("\\", "") for cell in cells] for name, *cells in rows}


@pytest.mark.parametrize(
    ("name", "planner", "gap", "case"),
    [
        ("packers", "packer", "peak_gap", ["problem"]),
        ("ping-pong", "streamer", "cycle_gap", ["workload", "chip", "shared_memory.bytes"]),
    ],
)
def test_medians_and_wins_are_those_of_pandas(name: str, planner: str, gap: str, case: list[str]) -> None:
    study = read_study(STUDIES / name / f"{name}.yaml")
    rows = PANDAS.read_csv(STUDIES / name / "rows.csv.gz")
    gaps = rows.pivot_table(index=case, columns=planner, values=gap).dropna()
    best = gaps.eq(gaps.min(axis=1), axis=0).sum()
    found = table_of((STUDIES / name / "report.md").read_text())
    asked = study.packers if planner == "packer" else study.streamers
    assert {*found} == {*asked} == {*gaps.columns}
    for each, cells in found.items():
        assert cells[0] == percent(gaps[each].median())
        assert cells[2] == percent(gaps[each].max())
        assert sum(map(int, cells[4].replace(" tied", "").split("+"))) == best[each]
