"""Pages of tables from known answers, their templates, and tables on terminals."""

import re
from importlib.resources import files
from io import StringIO

from hypothesis import given, strategies as st
from rich.console import Console

from chipmodel.answers.arena import ArenaAnswer, ArenaRequest
from chipmodel.answers.budget import BudgetAnswer, BudgetEntry, BudgetLine
from chipmodel.terminal.escapes import printable
from reports import arena, budget
from reports.page_parts import PageTable, TablePage
from reports.table_page import render_tables
from reports.template import packed, plotly_script
from reports.terminal_table import ruled_table
from tests.reports.console import printed
from tests.reports.pages import read, refers_to_nothing, unpacked
from tests.reports.sample import EVIL
from tests.support.narrowed import of_kind

BUDGETS = BudgetAnswer(
    "Firmware <1>",
    (
        BudgetEntry("kws", "zoo:ds_cnn", "luna-arcs", (BudgetLine("kws", "peak", 100, 90),)),
        BudgetEntry(EVIL, "zoo:resnet8", "gap9", (BudgetLine(EVIL, "cycles", 10, 20),)),
    ),
)
ARENA = ArenaAnswer(
    source="net.tflite",
    requests=(
        ArenaRequest("a", 64, 0, 1, 2),
        ArenaRequest(EVIL, 32, 1, 1, None),
        ArenaRequest("b", 16, 1, 2, 0),
    ),
    offsets=(64, -1, 0),
    runtime_head_bytes=128,
    head_bytes=112,
    lower_bound_bytes=112,
    status="optimal",
    planner="exact",
    kernel_bytes=32,
    tail_estimate_bytes=100,
    unknown_kernels=(),
)


def cells(page: str) -> list[str]:
    assert refers_to_nothing(page)
    assert "<script>alert" not in page
    return [text for text in map(str.strip, read(page).text) if text]


def test_a_budget_page_says_what_is_kept_and_what_is_not() -> None:
    found = cells(page := render_tables(budget.page(BUDGETS)))
    assert any("1 of 2 budgets kept" in text for text in found)
    assert page.count("verdict good") == page.count("verdict bad") == 1
    assert found[-1].endswith("cycles of 20 is above the limit of 10")


def test_an_arena_page_has_the_offset_of_each_tensor_by_its_number() -> None:
    found = cells(render_tables(arena.page(ARENA)))
    assert "Alive together: 3 buffers, 112 B" in found
    offsets = found[len(found) - found[::-1].index("Offsets") :]
    last = [offsets[at + 3] for at, text in enumerate(offsets) if text in ("a", "b")]
    assert last == ["0", "64"]
    assert offsets.count("left to the runtime") == 1


def test_a_table_without_rows_is_left_out() -> None:
    tables = (PageTable("one", "One", ("x", ">y"), [("a", "1")]), PageTable("two", "Two", ("x",), ()))
    page = render_tables(TablePage("ci", "name", "", ("Said.",), tables))
    assert "one-title" in page
    assert "two-title" not in page


ROWS = [(f"[b]op{number}[/b]", f"{number}") for number in range(5)]
CUT = PageTable("a", "First", ("op", ">n"), ROWS, "For the page.", remark="Both.\nOf them.", most=2)
HIDDEN, EMPTY = PageTable("b", "Hidden", ("x",), ROWS, most=0), PageTable("c", "Empty", ("x",), ())


def lines(*tables: PageTable, sentences: tuple[str, ...] = ("Said.", "Told.")) -> list[str]:
    page = TablePage("test", "net", "on chip", sentences, tables)
    found = (" ".join(line.split()) for line in printed(page).splitlines())
    return [line for line in found if line.strip("─ ")]


def test_sentences_then_the_first_rows_of_each_table_and_its_remark() -> None:
    whole = PageTable("d", "Second", ("op", ">n"), ROWS)
    first = ["net on chip: Said.", "Told.", "First", "op n", "[b]op0[/b] 0", "[b]op1[/b] 1"]
    more = ["3 more: --html, --json", "Both.", "Of them."]
    second = ["Second", "op n", *(f"{name} {number}" for name, number in ROWS)]
    assert lines(CUT, HIDDEN, EMPTY, whole) == first + more + second


def test_a_number_that_is_cut_ends_in_an_ellipsis() -> None:
    console = Console(file=StringIO(), width=14)
    console.print(ruled_table(("name", ">peak B"), [("exact", "21,184")], unbroken=["name"]))
    text = of_kind(StringIO, console.file).getvalue()
    assert "21,1…" in text


@given(st.text() | st.sampled_from(["</script>", "<!--<script>", "]]>", "\u2028&"]))
def test_packed_data_cannot_leave_its_element(text: str) -> None:
    assert unpacked(packed({"name": text})) == {"name": printable(text)}


def test_plotlys_script_has_the_major_version_of_its_python_package() -> None:
    whole = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    heads = [text[:200] for text in (whole, plotly_script().decode())]
    assert len({found[1] for head in heads if (found := re.search(r"plotly\.js.* v(\d+)\.", head))}) == 1
    assert all("MIT license" in head for head in heads)
