"""Notebooks say what is stored when their cells run; reports of studies what pandas finds in their rows."""

from pathlib import Path

import pytest

from docs.tools.notebooks import Notebook, executed, markdown, read, text_of
from tests.docs.pages import DOCS

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


def _notebook(*sources: str) -> Notebook:
    cells = [{"cell_type": "code", "source": [source], "outputs": []} for source in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
