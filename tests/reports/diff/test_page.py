"""The page of two runs: its chart is complete and small, its tables and words are known answers."""

import json
from dataclasses import replace
from fractions import Fraction

from reports.diff.difference import compare_results
from reports.diff.page import MARGIN, MOST_OPS, SHOWN_OPS, Strips, page, strips
from reports.diff.words import document, sentences
from reports.result_file import SavedResult
from tests.reports.console import printed as printed_page
from tests.reports.diff.test_difference import answer

MHZ = Fraction(1, 1000)
"""A cycle is a millisecond."""
A = answer({"c1": {"compute": 60, "weights": 20}, "c2": {"compute": 20}}, mhz=MHZ)
B = answer({"c1": {"compute": 40}, "c2": {"compute": 50, "input": 30}, "c3": {"weights": 80}}, mhz=MHZ)


def chart(a: SavedResult, b: SavedResult, width: int = 2 * MARGIN + 200) -> Strips:
    return strips(compare_results(a, b), "wide", width)


def test_bars_follow_one_another_at_one_scale_and_waits_are_low() -> None:
    found = chart(A, B).bars  # a pixel a millisecond
    above, below = found[:3], found[3:]
    assert [(bar.x - MARGIN, bar.width) for bar in above] == [(0, 60), (60, 20), (80, 20)]
    assert [(bar.x - MARGIN, bar.width) for bar in below] == [(0, 40), (40, 50), (90, 30), (120, 80)]
    assert [2 * bar.height // above[0].height for bar in found] == [2, 1, 2, 2, 2, 1, 1]
    assert len({bar.y + bar.height for bar in above}) == len({bar.y + bar.height for bar in below}) == 1
    assert below[2].title == "c2: 30 cycles waiting for an input"


def test_bands_lead_from_an_op_to_itself_with_its_number_in_the_table() -> None:
    diff = compare_results(A, B)
    assert [op.op for op in diff.ops] == ["c3", "c2", "c1"]
    bands = {band.title.partition(":")[0]: band for band in chart(A, B).bands}
    assert {name: (band.kind, band.number) for name, band in bands.items()} == {
        "c2": ("more", "2"),
        "c1": ("less", "3"),
    }
    corners = [float(corner.partition(",")[0]) - MARGIN for corner in bands["c2"].corners.split()]
    assert corners == [80, 100, 120, 40]


def test_each_core_has_a_lane_and_nothing_is_followed_across_cores() -> None:
    two = replace(A, cores=2, core_of={"c1": 0, "c2": 1})
    found = chart(A, two)
    assert [bar.x - MARGIN for bar in found.bars[3:]] == [0, 120, 0]  # two pixels a millisecond
    assert len({bar.y + bar.height for bar in found.bars[3:]}) == 2
    assert found.bands == ()


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


"""A cycle is a millisecond."""


def said(a: dict[str, dict[str, int]], b: dict[str, dict[str, int]]) -> list[str]:
    return sentences(compare_results(answer(a, mhz=MHZ), answer(b, mhz=MHZ)))


def test_the_sentence_names_time_share_reason_and_place() -> None:
    a = {"c1": {"compute": 90, "weights": 10}, "c2": {"weights": 5}}
    assert said(a, {"c1": {"compute": 90, "weights": 30}, "c2": {"weights": 10}}) == [
        "B is 25.0 ms (23.8%) slower: 25.0 ms more waiting for weights, mostly at c1."
    ]
    assert said(a, {"c1": {"compute": 70, "weights": 10}, "c2": {"weights": 8}}) == [
        "B is 17.0 ms (16.2%) faster: 20.0 ms less computing, all of it at c1; partly offset by "
        "3.00 ms more waiting for weights, all of it at c2."
    ]


def test_peak_and_traffic_have_sentences_where_they_differ() -> None:
    a = answer({"c": {"compute": 10}}, mhz=MHZ)
    b = replace(a, totals={**a.totals, "peak_bytes": 2048}, moved_bytes={"load weights": 100}, fits=False)
    a = replace(a, totals={**a.totals, "peak_bytes": 1024})
    assert sentences(compare_results(a, b))[1:] == [
        "A fits the chip, B does not.",
        "The peak of B is 1.0 KiB (100.0%) higher.",
        "B moves 100 B more to and from Psram.",
    ]


def test_the_document_is_complete_and_adds_up() -> None:
    a, b = answer({"c": {"compute": 10}}), answer({"c": {"compute": 7}, "d": {"weights": 9}}, {"core": 1})
    made = json.loads(json.dumps(document(compare_results(a, b))))
    assert made["change_cycles"] == 7
    for key in ("causes", "parts"):
        assert sum(part["cycles"] for part in made[key]) == 7
    assert sum(op["cycles"] for op in made["ops"]) + made["rest_cycles"] == 7
    assert made["answer"].startswith("B is 7.00 µs (70.0%) slower")
