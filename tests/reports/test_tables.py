"""What every page has: a list of its sections that stays in sight, and tables that can be saved."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from chipmodel.model.program import ops
from reports.decode import HEADS, page as page_of
from reports.page_parts import PageTable, TablePage
from reports.run.page import render_page
from reports.table_page import render_tables
from reports.template import with_contents
from tests.reports.chromium import CHROMIUM, Visit, visit
from tests.reports.decode.test_decode import ANSWER
from tests.reports.sample import large, write
from tests.support.narrowed import some

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")


def saved(found: Visit, kind: str, table: str) -> tuple[str, str]:
    """The name and the contents of what a button of a table saves."""
    with found.page.expect_download() as download:
        found.page.get_by_role("button", name=f"Save as {kind}: {table}", exact=True).click()
    path = download.value.path()
    return download.value.suggested_filename, path.read_bytes().decode("utf-8")


def test_a_table_is_saved_as_it_is_shown(browser: Browser, tmp_path: Path) -> None:
    found = visit(browser, write(tmp_path, "page.html", render_tables(page_of(ANSWER))))
    name, text = saved(found, "CSV", "Every length")
    assert name == "every-length.csv"
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == [head.lstrip(">") for head in HEADS]
    assert rows[2] == ["2", "2.5", "1", "1000", "50.0%", "800 B", "64 B", "0"]
    name, text = saved(found, "JSON", "Every length")
    assert name == "every-length.json"
    assert json.loads(text)[4]["context"] == 4096
    assert found.page.locator("output").first.inner_text() == "5 rows saved"
    assert found.complaints == []
    found.page.context.close()


def test_a_spreadsheet_computes_no_text_of_a_page(browser: Browser, tmp_path: Path) -> None:
    texts = ('=HYPERLINK("x")', "+1+1", "@a", "-5", "+5.5e3", 'a "quoted", text', "-x")
    table = PageTable("t", "Names", ("name", "name"), [(text, "b") for text in texts])
    page = render_tables(TablePage("test", "names", "", (), (table,)))
    found = visit(browser, write(tmp_path, "page.html", page))
    _, text = saved(found, "CSV", "Names")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["name", "name 2"]
    assert [row[0] for row in rows[1:]] == [
        *('\'=HYPERLINK("x")', "'+1+1", "'@a", "-5", "+5.5e3", 'a "quoted", text', "'-x")
    ]
    found.page.context.close()


@pytest.mark.slow
def test_all_rows_are_saved_but_those_that_a_filter_hides(browser: Browser, tmp_path: Path) -> None:
    result = large(500)
    found = visit(browser, write(tmp_path, "page.html", render_page(result, most_bars=500)))
    _, text = saved(found, "JSON", "Ops")
    assert sorted(row["op"] for row in json.loads(text)) == sorted(op.name for op in ops(result.program.body))
    found.page.fill("#filter", "block49.")
    _, text = saved(found, "JSON", "Ops")
    assert {row["op"].partition(".")[0] for row in json.loads(text)} == {"block49"}
    assert found.page.get_by_text("10 rows saved, without 490 that the filter hides").count() == 1
    found.page.context.close()


def test_the_list_of_sections_stays_in_sight_or_folds(browser: Browser, tmp_path: Path) -> None:
    file = write(tmp_path, "page.html", render_tables(page_of(ANSWER)))
    found = visit(browser, file, 1280)
    page = found.page
    wide, narrow = page.locator("nav.contents"), page.locator("details.contents")
    assert wide.locator("a").all_inner_texts() == page.locator("h2").all_inner_texts()
    assert narrow.is_hidden()
    wide.get_by_text("Every length").click()
    bar, head = wide.bounding_box(), page.locator("#lengths-title").bounding_box()
    assert bar is not None
    assert bar["y"] == 0
    assert bar["height"] <= some(head)["y"] < 900
    page.context.close()
    found = visit(browser, file, 400)
    wide, narrow = found.page.locator("nav.contents"), found.page.locator("details.contents")
    assert wide.is_hidden()
    link = narrow.get_by_text("Every length")
    assert link.is_hidden()
    narrow.locator("summary").click()
    link.click()
    assert found.page.evaluate("scrollY") > 900
    found.page.context.close()


def test_a_page_of_two_sections_has_no_list() -> None:
    page = "<header></header><h2 id='x'></h2>" + "".join(f'<h2 id="s{n}">S{n}</h2>' for n in range(2))
    assert with_contents(page) == page
    assert 'class="contents"' not in render_tables(page_of(replace(ANSWER, lengths=ANSWER.lengths[:1])))
