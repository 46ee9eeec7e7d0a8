"""Notebooks say what is stored when their cells run; reports of studies what pandas finds in their rows."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from chipmodel.api.simulation import PLOTLY
from chipmodel.studies.study_file import read_study
from docs.tools.notebooks import Notebook, executed, markdown, read, text_of
from reports.words import percent
from tests.docs.pages import DOCS
from tests.support.folders import ROOT

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def test_there_are_five_and_each_has_a_page() -> None:
    index = (DOCS / "notebooks" / "index.md").read_text()
    assert len(NOTEBOOKS) == 5
    for file in NOTEBOOKS:
        assert file.with_suffix(".md").exists()
        assert f"]({file.stem}.md)" in index


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_cells_answer_as_stored(file: Path, request: pytest.FixtureRequest) -> None:
    found = text_of(executed(read(file)))
    if request.config.getoption("--update-golden"):
        file.write_text(found)
    assert found == file.read_text(), "store it again with: python -m docs.tools.notebooks --write FILE"


def test_outputs_are_those_of_jupyter() -> None:
    """What is printed is a stream, and the last expression a result; None is none."""
    ran = executed(_notebook("print('a')\nx = 2\nx + 1", "x", "None", "x = 5"))
    kinds = [[each["output_type"] for each in cell["outputs"]] for cell in ran["cells"]]
    assert kinds == [["stream", "execute_result"], ["execute_result"], [], []]
    assert ran["cells"][0]["outputs"][0]["text"] == ["a\n"]
    assert ran["cells"][0]["outputs"][1]["data"] == {"text/plain": ["3"]}
    assert [cell["execution_count"] for cell in ran["cells"]] == [1, 2, 3, 4]
    assert "```python\nx\n```\n\n```text\n2\n```" in markdown(ran)


@pytest.mark.slow
def test_pictures_and_figures_are_stored_as_jupyter_stores_them() -> None:
    ran = executed(
        _notebook(
            "import chipmodel as cm; run = cm.simulate('zoo:ds_cnn'); run",
            "run.timeline()",
            "cm.plan('zoo:ds_cnn')",
        )
    )
    shown, figure, plain = (cell["outputs"][0]["data"] for cell in ran["cells"])
    assert shown[PLOTLY]["data"][0]["type"] == "bar"
    assert shown[PLOTLY]["layout"]["title"]["text"].startswith("ds_cnn on luna-arcs: One run takes ")
    assert "".join(shown["text/html"]).rstrip() in markdown(ran)
    assert figure[PLOTLY]["data"][0]["type"] == "bar"
    assert "text/html" not in figure
    assert "open the notebook in Jupyter" in markdown(ran)
    assert list(plain) == ["text/html", "text/plain"]


def _notebook(*sources: str) -> Notebook:
    cells = [{"cell_type": "code", "source": [source], "outputs": []} for source in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


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
