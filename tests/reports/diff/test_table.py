from reports.diff.difference import compare_results
from reports.diff.page import MOST_OPS, SHOWN_OPS, page
from reports.result_file import SavedResult
from tests.reports.console import printed as printed_page
from tests.reports.diff.test_difference import answer


def printed(a: SavedResult, b: SavedResult) -> str:
    return printed_page(page(compare_results(a, b)), 120)


def test_names_are_printed_as_text_and_never_as_markup() -> None:
    a = answer({"[bold]c[/x]": {"compute": 10}}, packer="[red]p")
    b = answer({"[bold]c[/x]": {"compute": 20}}, packer="[/]q")
    text = printed(a, b)
    for name in ("[bold]c[/x]", "[red]p", "[/]q"):
        assert name in text
    assert (
        text.index("B is 10.0 µs (100.0%) slower") < text.index("Settings that differ") < text.index("Totals")
    )


def test_the_waterfall_leads_from_a_to_b() -> None:
    text = printed(
        answer({"c": {"compute": 1000, "weights": 50}}), answer({"c": {"compute": 900, "weights": 250}})
    )
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line == ["Why"])
    assert [line[-1] for line in lines[at + 4 : at + 8]] == ["1,050", "1,250", "1,150", "1,150"]


def test_ops_left_out_of_the_table_are_summed_up() -> None:
    a = answer({f"op{i}": {"compute": 100} for i in range(MOST_OPS + 3)})
    b = answer({f"op{i}": {"compute": 200 + i} for i in range(MOST_OPS + 3)})
    text = printed(a, b)
    assert "And 3 more ops, together +303 cycles." in text
    assert f"{MOST_OPS - SHOWN_OPS} more: --html, --json" in text
