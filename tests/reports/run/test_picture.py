import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from chipmodel.answers.result import Result
from reports.run.figures import timeline
from reports.run.memory_map import memory_map
from reports.run.picture import LEFT, MOST_OPS, PLOT, notebook_html, picture
from tests.reports.cascade_sample import cascaded, cascaded_on_cores
from tests.reports.pages import read
from tests.reports.run.test_cores import result as two_cores
from tests.reports.sample import EVIL, sample

RESULTS: dict[str, Callable[[], Result]] = {
    "sample": sample,
    "cores": two_cores,
    "cascade": cascaded,
    "cascades on cores": cascaded_on_cores,
}
SVG = "{http://www.w3.org/2000/svg}"


def drawn(result: Result, most: int = 1000) -> ElementTree.Element:
    return ElementTree.fromstring(picture(result, most))


@pytest.mark.parametrize("name", RESULTS)
def test_every_bar_and_box_is_a_rectangle_within_the_plot(name: str) -> None:
    result = RESULTS[name]()
    top = max(result.cores, key=lambda plan: plan.solved.peak).core if result.cores else 0
    charts = timeline(result, 1000), memory_map(result.on_core(top) if result.cores else result, 1000)
    data: list[Any] = [trace for chart in charts for trace in chart.figure["data"]]  # type: ignore[attr-defined]
    bars = [rect for group in drawn(result).iter(f"{SVG}g") for rect in group.iter(f"{SVG}rect")]
    assert len(bars) == sum(len(trace["x"]) for trace in data if trace["type"] == "bar")
    for bar in bars:
        left, width = float(bar.attrib["x"]), float(bar.attrib["width"])
        assert left >= LEFT
        assert left + width <= LEFT + PLOT + 0.5
        assert float(bar.attrib["height"]) >= 0


def test_a_bar_lies_at_its_cycles_and_a_box_at_its_bytes() -> None:
    result = sample()
    bars = {rect.findtext(f"{SVG}title"): rect for rect in drawn(result).iter(f"{SVG}rect")}
    (event,) = [e for e in result.trace.events if e.name == "stem" and e.kind == "compute"]
    scale = PLOT / result.trace.cycles
    bar = bars["stem: compute"]
    assert float(bar.attrib["x"]) == pytest.approx(LEFT + event.start * scale, abs=0.06)
    assert float(bar.attrib["width"]) == pytest.approx(event.cycles * scale, abs=0.06)
    low, high = bars["w.even: weights"], bars["w.odd: weights"]
    sizes = {b.name: b.bytes for b in result.problem.buffers}
    per_byte = float(low.attrib["height"]) / sizes["w.even"]
    assert float(high.attrib["height"]) == pytest.approx(per_byte * sizes["w.odd"], abs=0.06)
    offsets = result.solved.plan.offsets
    bottoms = [float(each.attrib["y"]) + float(each.attrib["height"]) for each in (low, high)]
    assert bottoms[0] - bottoms[1] == pytest.approx(
        per_byte * (offsets["w.odd"] - offsets["w.even"]), abs=0.2
    )


def test_a_notebook_shows_the_slowest_ops_as_text_with_the_picture() -> None:
    result = sample()
    html = notebook_html(result, "It <fits>.")
    reader = read(html)
    text = "".join(reader.text)
    assert "It <fits>." in text
    assert EVIL in text
    assert [tag for tag, _ in reader.tags].count("tr") == 1 + MOST_OPS
    cycles = [
        int(found.replace(",", "")) for found in re.findall(r"</td><td>[\d,]+</td><td>([\d,]+)</td>", html)
    ]
    assert cycles == sorted(cycles, reverse=True)
    assert "4 more ops" in text
    (image,) = [attributes for tag, attributes in reader.tags if tag == "img"]
    assert b64decode((image["src"] or "").partition(",")[2]).decode() == picture(result, 300)
    assert html == notebook_html(result, "It <fits>.")
