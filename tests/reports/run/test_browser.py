"""The page in a real browser: drawing, requests and interaction."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from chipmodel.answers.result import Result
from chipmodel.model.plan import Plan
from chipmodel.model.program import ops
from reports.run.page import MOST_ROWS, render_page
from reports.template import PLOTLY_FILE, plotly_script
from tests.reports.chromium import CHROMIUM, Visit, visit
from tests.reports.sample import EVIL, large, sample, write
from tests.support.narrowed import some

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


@pytest.mark.slow
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


def test_hover_names_the_event_as_text_and_shows_what_it_depends_on_in_both_directions(shown: Visit) -> None:
    page = shown.page
    box = page.locator("#timeline .barlayer .trace").first.locator(".point").nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    page.wait_for_selector("#timeline .hovertext")
    text = page.locator("#timeline .hovertext").text_content() or ""
    assert EVIL in text
    assert "21,900 cycles, 73.00 µs" in text
    assert "depends on load dw" in text
    # It depends on its weights and the op before; the three stripes of the next op depend on it.
    assert page.locator("#timeline .links line:not([stroke-dasharray])").count() == 2
    assert page.locator("#timeline .links line[stroke-dasharray]").count() == 3
    boxes = page.locator("#timeline .links rect")
    assert boxes.count() == 6
    self = some(boxes.first.bounding_box())
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


@pytest.mark.parametrize("chart", ["merging-before", "merging-after"])
def test_each_chart_has_marks_and_hover_with_units(shown: Visit, chart: str) -> None:
    page = shown.page
    assert page.locator(f"#{chart} .barlayer .point path").count() > 1
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    box = page.locator(f"#{chart} .nsewdrag").first.bounding_box()
    assert box is not None
    curve = page.evaluate(
        f"document.getElementById('{chart}').data.findIndex((t) => t.customdata || t.type === 'bar')"
    )
    page.evaluate(f"Plotly.Fx.hover('{chart}', [{{ curveNumber: {curve}, pointNumber: 0 }}])")
    page.wait_for_selector(f"#{chart} .hovertext")
    assert "B at" in (page.locator(f"#{chart} .hovertext").first.text_content() or "")
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
    charts = ("timeline", "memory")
    ranges = [page.evaluate(f"document.getElementById('{c}').layout.xaxis.range") for c in charts]
    assert ranges[0] == ranges[1]
    assert 0 < ranges[0][0] < ranges[0][1] < sample().trace.cycles
    reset.click()
    reset.wait_for(state="hidden")
    assert page.evaluate("document.getElementById('memory').layout.xaxis.range") == [0, sample().trace.cycles]


CHANGES_BY_A_CLICK = """async () => {
  let seen = 0;
  const watch = new MutationObserver((changes) => { seen += changes.length; });
  watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  document.querySelectorAll("#ops tbody tr")[5].click();
  await new Promise((next) => requestAnimationFrame(next));
  seen += watch.takeRecords().length;
  watch.disconnect();
  return seen;
}"""
"""Changes of the document from a click on an op up to the next frame that the browser paints."""


def test_a_click_is_answered_with_as_little_work_on_a_page_of_2000_ops(
    browser: Browser, tmp_path: Path
) -> None:
    changes: list[int] = []
    for count in (20, 2000):
        found = visit(browser, write(tmp_path, f"chain{count}.html", render_page(large(count))))
        changes.append(found.page.evaluate(CHANGES_BY_A_CLICK))
        expect(found.page.locator("#chosen-text")).to_contain_text("block0.conv5")
        found.wait_until("document.getElementById('timeline').layout.shapes.length > 0")
        assert found.complaints == []
        found.page.context.close()
    assert changes[0] == changes[1] <= 10


def natural(name: str) -> list[int | str]:
    """The order of names in which numbers count as such."""
    return [int(part) if part.isdigit() else part for part in re.split("([0-9]+)", name)]


@pytest.mark.slow
def test_rows_after_the_first_are_made_when_they_are_needed(browser: Browser, tmp_path: Path) -> None:
    result = large(500)
    file = write(tmp_path, "large.html", render_page(result, most_bars=500))
    for ask in ("sort", "filter", "scroll"):
        found = visit(browser, file)
        assert len(found.cells(2)) == MOST_ROWS
        assert found.page.inner_text("#shown") == "500 ops"
        if ask == "sort":
            # A hundred rows are laid out at once, the others where a reader scrolls.
            found.page.locator("#ops thead button").nth(1).click()
            assert found.cells(2) == sorted((op.name for op in ops(result.program.body)), key=natural)[:100]
        elif ask == "filter":
            found.page.fill("#filter", "block49.")
            assert found.page.inner_text("#shown") == "10 of 500 ops"
            assert found.cells(1) == [f"{i:,}" for i in range(491, 501)]
            found.page.fill("#filter", "")
        for row in range(200, 501, 100):
            found.page.evaluate("document.querySelector('.tall').scrollTop = 1e6")
            found.page.wait_for_selector(f"#ops tbody tr:nth-child({row})", state="attached")
        assert sorted(found.cells(2)) == sorted(op.name for op in ops(result.program.body))
        table = "document.getElementById('ops')"
        heads = found.page.evaluate(f"[...{table}.tHead.rows[0].cells].map((c) => c.className)")
        for row in (0, 499):
            cells = f"[...{table}.tBodies[0].rows[{row}].cells]"
            assert found.page.evaluate(f"{cells}.map((c) => c.classList[0] ?? '')") == heads
        assert found.complaints == []
        found.page.context.close()


def node(found: Visit, name: str) -> Locator:
    return found.page.locator(f'#network .node[aria-label^="{name}, "]')


def test_the_network_is_drawn_with_its_boxes(opened: Visit) -> None:
    page = opened.page
    page.locator("#network").scroll_into_view_if_needed()
    expect(page.locator("#network .node[role=button]")).to_have_count(12)
    assert page.locator("#network .node").count() == 14
    labels = set(page.locator("#network .box text").all_text_contents())
    assert labels == {"if wake?", "arm loud", "arm quiet", "loop refine, 3 iterations"}
    boxes = {
        text: page.locator("#network .box").nth(i).locator("rect").bounding_box()
        for i, text in enumerate(page.locator("#network .box text").all_text_contents())
    }
    around, arm = boxes["if wake?"], boxes["arm loud"]
    inside = node(opened, "loud.conv").locator("rect").bounding_box()
    assert around is not None
    assert arm is not None
    assert inside is not None
    for outer, inner in ((around, arm), (arm, inside)):
        assert outer["x"] < inner["x"] < inner["x"] + inner["width"] < outer["x"] + outer["width"]
        assert outer["y"] < inner["y"] < inner["y"] + inner["height"] < outer["y"] + outer["height"]
    assert page.locator("#network path.again").count() == 1
    assert node(opened, "quiet.copy").get_attribute("aria-label") == "quiet.copy, copy, did not run"
    assert node(opened, EVIL).locator("title").text_content() == node(opened, EVIL).get_attribute(
        "aria-label"
    )
    assert page.locator("#network script").count() == 0


def test_ops_are_coloured_by_the_chosen_measure(opened: Visit) -> None:
    page = opened.page
    page.locator("#network").scroll_into_view_if_needed()
    relu, stem = node(opened, "relu").locator("rect"), node(opened, "stem").locator("rect")
    fill = "e => getComputedStyle(e).fill"
    expect(page.locator("#network-scale")).to_have_text("0 to 32,868 cycles")
    assert relu.evaluate(fill) != stem.evaluate(fill)
    before = relu.evaluate(fill)
    page.select_option("#network-measure", "bytes")
    expect(page.locator("#network-scale")).to_have_text(re.compile("^0 to .* B$"))
    assert relu.evaluate(fill) != before


def test_a_node_leads_to_its_bars_and_buffers_and_back(opened: Visit) -> None:
    page = opened.page
    page.locator("#network").scroll_into_view_if_needed()
    node(opened, "relu").click()
    expect(page.locator("#chosen-text")).to_contain_text(
        "relu, relu: stall 32,868 cycles, time 40,568 cycles"
    )
    opened.wait_until("document.getElementById('memory').layout.xaxis.range[0] > 0")
    expect(page.locator("#timeline")).to_be_focused()
    low, high = page.evaluate("document.getElementById('timeline').layout.xaxis.range")
    (event,) = [e for e in sample().trace.events if e.name == "relu" and e.unit == "npu" and not e.cause]
    assert low < event.start < event.stop < high < sample().trace.cycles
    shapes = page.evaluate("document.getElementById('timeline').layout.shapes.map((s) => [s.x0, s.x1])")
    assert [event.start, event.stop] in shapes
    page.click("#chosen button[value=network]")
    expect(node(opened, "relu")).to_be_focused()
    page.click("#chosen button[value=table]")
    expect(page.locator("#ops tr:focus")).to_contain_text("relu")
    page.click("#chosen button[value=close]")
    expect(page.locator("#chosen")).to_be_hidden()
    opened.wait_until("document.getElementById('timeline').layout.shapes.length == 0")
    assert opened.complaints == []


def test_bars_and_rows_lead_to_their_op(opened: Visit) -> None:
    page = opened.page
    page.focus("#timeline")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#timeline-said")).to_contain_text("compute: stem")
    page.keyboard.press("Enter")
    expect(page.locator("#chosen-text")).to_contain_text("stem, conv")
    page.click("#chosen button[value=network]")
    expect(node(opened, "stem")).to_be_focused()
    page.locator("#ops tbody tr").nth(4).click()
    expect(page.locator("#chosen-text")).to_contain_text("pool, max_pool")
    page.fill("#filter", "softmax")
    page.press("#filter", "Enter")
    expect(page.locator("#chosen-text")).to_contain_text("softmax, softmax")
    assert opened.complaints == []


def test_the_network_is_walked_by_keyboard(opened: Visit) -> None:
    page = opened.page
    page.locator("#network").scroll_into_view_if_needed()
    page.focus("#network .node[tabindex='0']")
    for key, name in (("ArrowDown", EVIL), ("End", "softmax"), ("ArrowDown", "softmax"), ("Home", "stem")):
        page.keyboard.press(key)
        assert (page.evaluate("document.activeElement.getAttribute('aria-label')") or "").startswith(name)
        assert page.locator("#network .node[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#timeline")).to_be_focused()


@pytest.mark.slow
def test_a_large_network_is_drawn_in_parts(browser: Browser, tmp_path: Path) -> None:
    found = visit(browser, write(tmp_path, "large.html", render_page(large(500), most_bars=500)))
    page = found.page
    assert page.locator("#network svg").count() == 0
    page.locator("#network").scroll_into_view_if_needed()
    expect(page.locator("#network .node:not(.far)")).to_have_count(150)
    assert page.locator("#network .far").count() == 2
    page.locator("#network .far[role=button]").click()
    expect(page.locator("#chosen-text")).to_contain_text("block15.conv0")
    page.click("#chosen button[value=network]")
    expect(node(found, "block15.conv0")).to_be_focused()
    assert page.input_value("#network-part") == "150"
    page.select_option("#network-part", "450")
    expect(page.locator("#network .node:not(.far)")).to_have_count(51)
    assert found.complaints == []
    page.context.close()
