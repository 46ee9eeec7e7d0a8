"""The study page as text: one file, the same for the same rows, with names escaped."""

import re
from dataclasses import replace

from chipmodel.answers.study_results import StudyResults
from reports.study.page import FIRST_ROWS, render_study
from tests.reports.pages import data_of
from tests.reports.study_sample import EVIL, designs, packing, small


def visible(page: str) -> str:
    """Without the scripts and the data."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_a_hostile_name_is_text_everywhere() -> None:
    page = render_study(small())
    assert EVIL not in page
    assert "&lt;script&gt;alert" in visible(page)
    assert "<b>not so</b>" not in page
    data = data_of(page)
    assert EVIL in {cells[0] for cells in data["table"]["cells"]}


def test_every_point_has_its_figures_and_its_command() -> None:
    study = small()
    data = data_of(render_study(study))
    assert [point["key"] for point in data["points"]] == [row.key for row in study.rows]
    facts = dict(data["points"][0]["facts"])
    assert facts["peak bytes"] == "100"
    assert facts["peak gap"] == "0.0%"
    assert data["points"][0]["command"] == f"chipmodel study small.yaml --only {study.rows[0].key[:16]}"
    assert data["points"][0]["steps"][1] == ["20.0 ms", "120 B", "90 B"]
    assert data["points"][-1]["error"] == "wrong\n  hint: <b>not so</b>"
    cases = [point["case"] for point in data["points"]]
    assert cases == [0, 1, 2, 3] * 3


def test_the_table_has_what_varies_and_numbers_to_sort_by() -> None:
    table = data_of(render_study(designs()))["table"]
    assert [key for key, _, _ in table["columns"]] == [
        "workload", "psram.clock_mhz", "shared_memory.bytes", "streamer", "status", "peak_bytes",
        "peak_lower_bound_bytes", "peak_gap", "total_cycles", "lower_bound_cycles", "cycle_gap",
        "milliseconds", "seconds",
    ]  # fmt: skip
    cycles = [key for key, _, _ in table["columns"]].index("total_cycles")
    assert table["values"][cycles][:5] == [None, None, None, None, 33000]
    assert table["cells"][4][cycles] == "33,000"
    small_table = data_of(render_study(small()))["table"]
    assert "total_cycles" not in [key for key, _, _ in small_table["columns"]]


def test_empty_sections_are_left_out() -> None:
    page = visible(render_study(small()))
    assert "Smallest SharedMemory" not in page
    assert "Cycles of a run" not in page
    assert "Failed points" in page
    at_bound = visible(render_study(StudyResults("met", (packing("a", "p", 5, 5, "optimal"),))))
    assert "Every plan is at its lower bound" in at_bound
    assert "performance profile" not in at_bound.lower()
    assert "Failed points" not in at_bound
    empty = visible(render_study(StudyResults("none", (), points=4)))
    assert "No point has an answer yet." in empty
    assert "0 points" in empty


def test_the_smallest_sufficient_memories_are_a_table() -> None:
    page = visible(render_study(designs()))
    found = re.findall(r"<th scope=\"row\">(zoo:\w+)</th><td class=\"num\">([^<]+)", page)
    assert found == [("zoo:one", "512 KiB"), ("zoo:two", "256 KiB")]


def test_no_script_still_shows_the_first_rows() -> None:
    row = packing("a", "p", 5, 4)
    rows = tuple(replace(row, key=f"{k:x}") for k in range(FIRST_ROWS + 7))
    page = visible(render_study(StudyResults("large", rows)))
    assert page.count('<th scope="row"><a href="#point-') == FIRST_ROWS
