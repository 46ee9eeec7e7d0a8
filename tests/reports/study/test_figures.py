"""A study's charts as SVG: well-formed, the same for the same rows, marks and lines where values are."""

from xml.etree import ElementTree

import pytest

from chipmodel.answers.study_results import StudyResults
from reports.study.chart import SeriesStyle, StudyChart, trace
from reports.study.figures import WIDTH, figure_svg
from reports.study.page import figures
from tests.reports.study_sample import designs, many, merged, network, small

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("study", [small(), designs(), many(60), merged()])
def test_every_chart_is_a_file_that_stands_alone(study: StudyResults) -> None:
    found = figures(study)
    assert found == figures(study)
    assert found
    for name, svg in found.items():
        assert name.endswith(".svg")
        assert set(name).isdisjoint('/\\:?* "')
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.attrib["width"] == str(WIDTH)
        assert "href" not in svg


def test_names_of_the_charts() -> None:
    assert {*figures(small())} == {"peak-gaps.svg", "peak-profile.svg", "time.svg"}
    assert "latency-SharedMemory-zoo_one.svg" in figures(designs())


def test_axes_and_legend_have_their_words() -> None:
    found = figures(small())
    assert {"exact", "best-fit", "naive", "gap to the bound", "not proven"} <= {
        *texts(found["peak-gaps.svg"])
    }
    assert {"share of cases", "100%", "exact"} <= {*texts(found["peak-profile.svg"])}
    assert {"ms", "SharedMemory", "256 KiB", "Pareto front"} <= {
        *texts(figures(designs())["latency-SharedMemory-zoo_one.svg"])
    }


def test_a_name_is_no_markup() -> None:
    rows = tuple(network("n", cycles, streamer=name) for name, cycles in (("<b>&x", 2000), ("y", 1500)))
    assert "<b>&x" in texts(figures(StudyResults("s", rows))["cycles-gaps.svg"])


def test_marks_and_lines_are_where_the_values_are() -> None:
    """By hand: 640 wide and 154 high, so that the plot is 100 high; labels "a" of 6.4 leave 32 to the left,
    and 594 for the axis from 0 to 2. The line is broken where there is no value, and its steps are level."""
    line = {"color": "#123", "shape": "hv"}
    marker = {"color": "#456", "symbol": "circle-open", "size": 16}
    told = ["<a>\n1 B"] * 4
    drawn = trace("lines+markers", [0, 1, None, 2], [0, 1, None, 4], told, line=line, marker=marker)
    layout = {
        "xaxis": {"title": {"text": "x"}, "range": [0, 2], "tickvals": [1], "ticktext": ["one"]},
        "yaxis": {"range": [0, 4], "tickvals": [4], "ticktext": ["a"]},
    }
    chart = StudyChart({"data": [drawn], "layout": layout}, (), 154)
    svg = figure_svg(chart, (SeriesStyle("kind", "#456", symbol="square"),))
    root = ElementTree.fromstring(svg)
    assert [node.attrib["points"] for node in root.iter(f"{SVG}polyline")] == [
        "32.0,110.0 329.0,110.0 329.0,85.0",
        "626.0,10.0",
    ]
    marks = [node for node in root.iter(f"{SVG}path") if "transform" in node.attrib]
    assert [node.attrib["transform"] for node in marks[:3]] == [
        "translate(32.0 110.0) scale(2.0)",
        "translate(329.0 85.0) scale(2.0)",
        "translate(626.0 10.0) scale(2.0)",
    ]
    assert (marks[0].attrib["fill"], marks[3].attrib["fill"]) == ("none", "#456")
    assert texts(svg) == ["a", "one", "x", "kind"]
    assert [node.findtext(f"{SVG}title") for node in marks] == ["<a>\n1 B"] * 3 + [None]
