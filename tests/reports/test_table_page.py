"""Pages of tables: budgets and arenas from known answers."""

from chipmodel.answers.arena import ArenaAnswer, ArenaRequest
from chipmodel.answers.budget import BudgetAnswer, BudgetEntry, BudgetLine
from reports import arena, budget
from reports.page_parts import PageTable, TablePage
from reports.table_page import render_tables
from tests.reports.pages import read, refers_to_nothing
from tests.reports.sample import EVIL

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
    runtime_bytes=128,
    head_bytes=112,
    lower_bound=112,
    status="optimal",
    planner="exact",
    tail_estimate=100,
)


def cells(page: str) -> list[str]:
    assert refers_to_nothing(page)
    assert "<script>alert" not in page
    return [text for text in map(str.strip, read(page).text) if text]


def test_a_budget_page_says_what_is_kept_and_what_is_not() -> None:
    found = cells(page := render_tables(budget.page(BUDGETS)))
    assert found.count("1 of 2") == 2
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
    page = render_tables(TablePage("ci", "name", "", ("Said.",), (), tables))
    assert "one-title" in page
    assert "two-title" not in page
