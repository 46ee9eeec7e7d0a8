"""The page in a real browser: drawing, requests and interaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from chipmodel.answers.result import Result
from chipmodel.model.plan import Plan
from chipmodel.model.program import ops
from reports.run.page import MOST_ROWS, render_page
from reports.template import PLOTLY_FILE, plotly_script
from tests.reports.chromium import CHROMIUM, Visit, visit
from tests.reports.sample import EVIL, large, sample, write

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page"), "sample.html", render_page(merged()))


def merged() -> Result:
    """The sample, with a plan before merging that differs from its own."""
    result = sample()
    offsets = {**result.solved.plan.offsets, "chosen": 65536}
    plan = replace(result.solved, plan=Plan(offsets), peak=65536 + 8192)
    return replace(result, unmerged=plan)


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Visit]:
    found = visit(browser, file)
    yield found
    found.page.context.close()


@pytest.fixture(scope="module")
def shared_page(browser: Browser, file: Path) -> Iterator[Visit]:
    found = visit(browser, file)
    yield found
    found.page.context.close()


@pytest.fixture
def shown(shared_page: Visit) -> Iterator[Visit]:
    """A page for those that only look and hover, opened once."""
    yield shared_page
    shared_page.page.mouse.move(5, 5)
    assert shared_page.complaints == []


def test_plotlys_script_may_lie_beside_the_page(browser: Browser, tmp_path: Path) -> None:
    file = write(tmp_path, "page.html", render_page(sample(), plotly="beside"))
    alone = visit(browser, file)
    expect(alone.page.locator("#alone")).to_have_text(re.compile("need the file plotly-basic.min.js"))
    alone.page.fill("#filter", "refine")
    assert alone.cells(2) == ["refine.a", "refine.b"]
    (tmp_path / PLOTLY_FILE).write_bytes(plotly_script())
    found = visit(browser, file)
    assert found.requests == [file.as_uri(), (tmp_path / PLOTLY_FILE).as_uri()]
    assert found.complaints == []
    assert found.marks("timeline") == len(sample().trace.events)
    expect(found.page.locator("#alone")).to_be_hidden()
    for each in (alone, found):
        each.page.context.close()


def test_every_event_and_buffer_is_drawn(shown: Visit) -> None:
    result = sample()
    assert shown.marks("timeline") == len(result.trace.events)
    # refine.a lives through the whole body of its loop, so its three iterations are one box.
    assert shown.marks("memory") == len(result.problem.buffers)
    assert shown.page.locator("#memory .scatterlayer .trace").count() == 2


def test_hover_names_the_event_as_text(shown: Visit) -> None:
    box = shown.page.locator("#timeline .barlayer .trace").first.locator(".point").nth(1).bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    shown.page.wait_for_selector("#timeline .hovertext")
    text = shown.page.locator("#timeline .hovertext").text_content() or ""
    assert EVIL in text
    assert "21,900 cycles, 73.00 µs" in text
    assert shown.complaints == []


def test_hover_shows_the_dependencies_of_a_step_in_both_directions(shown: Visit) -> None:
    page = shown.page
    box = page.locator("#timeline .barlayer .trace").first.locator(".point").nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    page.wait_for_selector("#timeline .hovertext")
    assert "depends on load dw" in (page.locator("#timeline .hovertext").text_content() or "")
    # It depends on its weights and the op before; the three stripes of the next op depend on it.
    assert page.locator("#timeline .links line:not([stroke-dasharray])").count() == 2
    assert page.locator("#timeline .links line[stroke-dasharray]").count() == 3
    boxes = page.locator("#timeline .links rect")
    assert boxes.count() == 6
    self = boxes.first.bounding_box()
    assert self is not None
    assert self["x"] == pytest.approx(box["x"], abs=2)
    assert self["width"] == pytest.approx(box["width"], abs=3)
    for index in range(2):
        line = page.locator("#timeline .links line").nth(index)
        ends = [float(line.get_attribute(name) or "") for name in ("x1", "x2")]
        assert ends == sorted(ends)
    page.mouse.move(5, 5)
    page.wait_for_selector("#timeline .links rect", state="detached")
    assert shown.complaints == []


def test_the_timeline_is_walked_by_keyboard(opened: Visit) -> None:
    page = opened.page
    page.focus("#timeline")
    said = page.locator("#timeline-said")
    before = ""
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        expect(said).not_to_have_text(before)
        before = said.inner_text()
    expect(said).to_contain_text("compute: stem, 23,600 cycles")
    page.wait_for_selector("#timeline .hovertext")
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("load weights")
    assert page.locator("#timeline .links line").count() > 0
    page.keyboard.press("Escape")
    page.wait_for_selector("#timeline .links rect", state="detached")
    assert opened.complaints == []


@pytest.mark.parametrize(
    ("chart", "marks", "unit"),
    [
        ("bandwidth", ".scatterlayer .trace", "MB/s"),
        ("waterfall", ".barlayer .point path", "cycles"),
        ("roofline", ".scatterlayer .points path", "GMAC/s"),
        ("merging-before", ".barlayer .point path", "B at"),
        ("merging-after", ".barlayer .point path", "B at"),
    ],
)
def test_each_chart_has_marks_and_hover_with_units(shown: Visit, chart: str, marks: str, unit: str) -> None:
    page = shown.page
    drawn = page.locator(f"#{chart} {marks}")
    assert drawn.count() > 1
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    box = page.locator(f"#{chart} .nsewdrag").first.bounding_box()
    assert box is not None
    curve = page.evaluate(
        f"document.getElementById('{chart}').data.findIndex((t) => t.customdata || t.type === 'bar')"
    )
    page.evaluate(f"Plotly.Fx.hover('{chart}', [{{ curveNumber: {curve}, pointNumber: 0 }}])")
    page.wait_for_selector(f"#{chart} .hovertext")
    assert unit in (page.locator(f"#{chart} .hovertext").first.text_content() or "")
    assert shown.complaints == []


def test_zoom_moves_all_charts_over_time_and_can_be_undone(opened: Visit) -> None:
    page = opened.page
    reset = page.locator("#timeline-section [data-reset]")
    assert not reset.is_visible()
    box = page.locator("#timeline .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 42, steps=4)
    page.mouse.up()
    reset.wait_for(state="visible")
    charts = ("timeline", "bandwidth", "memory")
    ranges = [page.evaluate(f"document.getElementById('{c}').layout.xaxis.range") for c in charts]
    assert ranges[0] == ranges[1] == ranges[2]
    assert page.evaluate("document.getElementById('roofline').layout.xaxis.range")[1] < 10
    assert 0 < ranges[0][0] < ranges[0][1] < sample().trace.cycles
    reset.click()
    reset.wait_for(state="hidden")
    assert page.evaluate("document.getElementById('memory').layout.xaxis.range") == [0, sample().trace.cycles]


def test_the_legend_hides_and_shows(opened: Visit) -> None:
    button = opened.page.locator("#timeline-section .legend button", has_text="compute")
    before = opened.marks("timeline")
    button.focus()
    opened.page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    opened.page.wait_for_function(f"document.querySelectorAll('#timeline .point path').length < {before}")
    button.click()
    opened.page.wait_for_function(f"document.querySelectorAll('#timeline .point path').length == {before}")


def test_the_table_sorts_by_click_and_by_keyboard(opened: Visit) -> None:
    heads = opened.page.locator("#ops thead th")
    stall = heads.filter(has_text="stall")
    stall.locator("button").click()
    assert stall.get_attribute("aria-sort") == "descending"
    values = [int(v.replace(",", "")) for v in opened.cells(8)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 32868
    stall.locator("button").focus()
    opened.page.keyboard.press("Enter")
    assert stall.get_attribute("aria-sort") == "ascending"
    assert [int(v.replace(",", "")) for v in opened.cells(8)] == sorted(values)
    heads.nth(1).locator("button").click()
    assert heads.nth(1).get_attribute("aria-sort") == "ascending"
    assert opened.page.locator("#ops [aria-sort]").count() == 1
    assert opened.cells(2)[0] == "[bold red]head[/] {{ 7*7 }} %{x}"


def test_the_table_filters_by_name_and_kind(opened: Visit) -> None:
    opened.page.fill("#filter", "REFINE")
    assert opened.cells(2) == ["refine.a", "refine.b"]
    assert opened.page.inner_text("#shown") == "2 of 12 ops"
    opened.page.fill("#filter", "<script>")
    assert opened.cells(2) == [EVIL]
    opened.page.fill("#filter", "dense")
    assert len(opened.cells(2)) == 1
    opened.page.fill("#filter", "")
    assert opened.page.inner_text("#shown") == "12 ops"


def test_names_with_markup_are_shown_as_text(shown: Visit) -> None:
    assert (
        shown.page.inner_text("h1") == "kws-<i>demo</i> ü on Toy <chip> & friends, not compared with silicon"
    )
    assert shown.page.locator("main i:not(.meter i), main b, main script").count() == 0


def test_no_button_sends_the_chart_away(shown: Visit) -> None:
    buttons = shown.page.locator(".modebar-btn")
    titles = {buttons.nth(i).get_attribute("data-title") or "" for i in range(buttons.count())}
    assert titles
    assert not [t for t in titles if "hare" in t or "loud" in t or "plotly" in t.lower()]


def test_figures_follow_a_change_of_scheme_and_keep_the_zoom(opened: Visit) -> None:
    page = opened.page
    light = page.locator("#memory .xtick text").first.evaluate("e => getComputedStyle(e).fill")
    page.evaluate("Plotly.relayout('timeline', {'xaxis.range': [1000, 50000]})")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "light => getComputedStyle(document.querySelector('#memory .xtick text')).fill !== light", arg=light
    )
    assert page.evaluate("document.getElementById('memory').layout.xaxis.range") == [1000, 50000]
    assert opened.complaints == []


def test_thousands_of_events_still_draw(browser: Browser, tmp_path: Path) -> None:
    result = large(1000)
    found = visit(browser, write(tmp_path, "large.html", render_page(result, most_bars=2500)))
    assert 1000 < found.marks("timeline") <= 2500
    assert found.complaints == []
    found.page.context.close()


def test_rows_after_the_first_are_made_when_they_are_needed(browser: Browser, tmp_path: Path) -> None:
    result = large(500)
    file = write(tmp_path, "large.html", render_page(result, most_bars=500))
    for ask in ("sort", "filter", "scroll"):
        found = visit(browser, file)
        assert len(found.cells(2)) == MOST_ROWS
        assert found.page.inner_text("#shown") == "500 ops"
        if ask == "sort":
            found.page.locator("#ops thead button").nth(1).click()
        elif ask == "filter":
            found.page.fill("#filter", "block49.")
            assert found.page.inner_text("#shown") == "10 of 500 ops"
            assert found.cells(1) == [f"{i:,}" for i in range(491, 501)]
            found.page.fill("#filter", "")
        else:
            found.page.evaluate("document.querySelector('.tall').scrollTop = 1e6")
            found.page.wait_for_selector("#ops tbody tr:nth-child(500)", state="attached")
        assert sorted(found.cells(2)) == sorted(op.name for op in ops(result.program.body))
        table = "document.getElementById('ops')"
        heads = found.page.evaluate(f"[...{table}.tHead.rows[0].cells].map((c) => c.className)")
        for row in (0, 499):
            cells = f"[...{table}.tBodies[0].rows[{row}].cells]"
            assert found.page.evaluate(f"{cells}.map((c) => c.classList[0] ?? '')") == heads
        assert found.complaints == []
        found.page.context.close()
