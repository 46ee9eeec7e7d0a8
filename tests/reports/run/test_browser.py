"""The page in a real browser: drawing, requests and interaction."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from chipmodel.answers.result import Result
from chipmodel.model.plan import Plan
from reports.run.page import render_page
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


@pytest.fixture(scope="module")
def shared_page(browser: Browser, file: Path) -> Iterator[Visit]:
    found = visit(browser, file)
    yield found
    found.page.context.close()


@pytest.fixture
def shown(shared_page: Visit) -> Iterator[Visit]:
    """The one visit of the page: a test leaves nothing chosen and nothing zoomed."""
    shared_page.page.evaluate("scrollTo(0, 0)")
    yield shared_page
    shared_page.page.mouse.move(5, 5)
    assert shared_page.complaints == []


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


def test_the_timeline_is_walked_by_keyboard(shown: Visit) -> None:
    page = shown.page
    page.focus("#timeline")
    said = page.locator("#timeline-said")
    before = ""
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        expect(said).not_to_have_text(before)
        before = said.inner_text()
    expect(said).to_contain_text("stem, compute, 23,600 cycles")
    page.wait_for_selector("#timeline .hovertext")
    page.keyboard.press("Enter")
    expect(page.locator("#chosen-text")).to_contain_text("stem, conv")
    page.click("#chosen button[value=close]")
    page.focus("#timeline")
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("load weights")
    assert page.locator("#timeline .links line").count() > 0
    page.keyboard.press("Escape")
    page.wait_for_selector("#timeline .links rect", state="detached")
    assert shown.complaints == []


def test_zoom_moves_all_charts_over_time_and_can_be_undone(browser: Browser, file: Path) -> None:
    page = visit(browser, file).page
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
    page.context.close()


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


@pytest.mark.slow
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


def node(found: Visit, name: str) -> Locator:
    return found.page.locator(f'#network .node[aria-label^="{name}, "]')


def test_the_network_is_drawn_with_its_boxes(shown: Visit) -> None:
    page = shown.page
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
    inside = node(shown, "loud.conv").locator("rect").bounding_box()
    assert around is not None
    assert arm is not None
    assert inside is not None
    for outer, inner in ((around, arm), (arm, inside)):
        assert outer["x"] < inner["x"] < inner["x"] + inner["width"] < outer["x"] + outer["width"]
        assert outer["y"] < inner["y"] < inner["y"] + inner["height"] < outer["y"] + outer["height"]
    assert page.locator("#network path.again").count() == 1
    assert node(shown, "quiet.copy").get_attribute("aria-label") == "quiet.copy, copy, did not run"
    assert node(shown, EVIL).locator("title").text_content() == node(shown, EVIL).get_attribute("aria-label")
    assert page.locator("#network script").count() == 0


def test_a_node_leads_to_its_bars_and_buffers_and_back(shown: Visit) -> None:
    page = shown.page
    page.locator("#network").scroll_into_view_if_needed()
    node(shown, "relu").click()
    expect(page.locator("#chosen-text")).to_contain_text(
        "relu, relu: stall 32,868 cycles, time 40,568 cycles"
    )
    shown.wait_until("document.getElementById('memory').layout.xaxis.range[0] > 0")
    expect(page.locator("#timeline")).to_be_focused()
    low, high = page.evaluate("document.getElementById('timeline').layout.xaxis.range")
    (event,) = [e for e in sample().trace.events if e.name == "relu" and e.unit == "npu" and not e.cause]
    assert low < event.start < event.stop < high < sample().trace.cycles
    shapes = page.evaluate("document.getElementById('timeline').layout.shapes.map((s) => [s.x0, s.x1])")
    assert [event.start, event.stop] in shapes
    page.click("#chosen button[value=network]")
    expect(node(shown, "relu")).to_be_focused()
    page.click("#chosen button[value=table]")
    expect(page.locator("#ops tr:focus")).to_contain_text("relu")
    page.click("#chosen button[value=close]")
    expect(page.locator("#chosen")).to_be_hidden()
    shown.wait_until("document.getElementById('timeline').layout.shapes.length == 0")
    assert shown.complaints == []


def test_the_network_is_walked_by_keyboard(shown: Visit) -> None:
    page = shown.page
    page.locator("#network").scroll_into_view_if_needed()
    page.focus("#network .node[tabindex='0']")
    for key, name in (("Home", "stem"), ("ArrowDown", EVIL), ("End", "softmax"), ("ArrowDown", "softmax")):
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
