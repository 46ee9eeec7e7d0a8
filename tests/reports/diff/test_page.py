"""The page of two runs: its chart is complete and small, its tables and words are known answers."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

from chipmodel.files.document import document
from reports.diff.difference import compare_results
from reports.diff.page import page
from reports.diff.strips import WAIT, strips
from reports.diff.words import sentences
from reports.result_file import SavedResult
from tests.reports.console import printed as printed_page
from tests.reports.diff.test_difference import answer

MHZ = Fraction(1, 1000)
"""A cycle is a millisecond."""
A = answer({"c1": {"compute": 60, "weights": 20}, "c2": {"compute": 20}}, mhz=MHZ)
B = answer({"c1": {"compute": 40}, "c2": {"compute": 50, "input": 30}, "c3": {"weights": 80}}, mhz=MHZ)


def traces(a: SavedResult, b: SavedResult, kind: str) -> list[dict[str, Any]]:
    return [trace for trace in strips(compare_results(a, b)).traces if trace["type"] == kind]


def bars(a: SavedResult, b: SavedResult) -> dict[float, list[tuple[float, float, str]]]:
    """By the lower edge of their lane: start, length and tooltip."""
    found: dict[float, list[tuple[float, float, str]]] = {}
    for trace in traces(a, b, "bar"):
        for start, length, y, said in zip(
            trace["base"], trace["x"], trace["y"], trace["hovertext"], strict=True
        ):
            found.setdefault(round(y - trace["width"] / 2, 3), []).append((start, length, said))
    return {lane: sorted(each) for lane, each in found.items()}


def test_bars_follow_one_another_at_one_scale_and_waits_are_low() -> None:
    below, above = sorted(bars(A, B).items())
    assert [bar[:2] for bar in above[1]] == [(0, 60), (60, 20), (80, 20)]
    assert [bar[:2] for bar in below[1]] == [(0, 40), (40, 50), (90, 30), (120, 80)]
    assert below[1][2][2] == "c2: 30 cycles waiting for an input"
    heights = {trace["name"]: trace["width"] for trace in traces(A, B, "bar")}
    assert {name: height * 2 > WAIT * 3 for name, height in heights.items()} == {
        "computing": True, "waiting for weights": False, "waiting for an input": False
    }  # fmt: skip


def test_bands_lead_from_an_op_to_itself() -> None:
    assert [op.op for op in compare_results(A, B).ops] == ["c3", "c2", "c1"]
    bands = traces(A, B, "scatter")
    assert {band["text"]: (band["name"], band["x"][:4]) for band in bands} == {
        "c2: +60 cycles": ("takes longer in B", [80, 100, 120, 40]),
        "c1: \N{MINUS SIGN}40 cycles": ("takes less time in B", [0, 80, 40, 0]),
    }


def test_each_core_has_a_lane_and_nothing_is_followed_across_cores() -> None:
    two = replace(A, cores=2, core_of={"c1": 0, "c2": 1})
    second, first, _ = (each for _, each in sorted(bars(A, two).items()))
    assert [bar[0] for bar in (*first, *second)] == [0, 60, 0]
    assert traces(A, two, "scatter") == []


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


"""A cycle is a millisecond."""


def said(a: dict[str, dict[str, int]], b: dict[str, dict[str, int]]) -> list[str]:
    return sentences(compare_results(answer(a, mhz=MHZ), answer(b, mhz=MHZ)))


def test_the_sentence_names_time_share_reason_and_place() -> None:
    a = {"c1": {"compute": 90, "weights": 10}, "c2": {"weights": 5}}
    assert said(a, {"c1": {"compute": 90, "weights": 30}, "c2": {"weights": 10}}) == [
        "B is 25.0 ms (23.8%) slower: 25.0 ms more waiting for weights, mostly at c1."
    ]
    assert said(a, {"c1": {"compute": 70, "weights": 10}, "c2": {"weights": 8}}) == [
        "B is 17.0 ms (16.2%) faster: 20.0 ms less computing, all of it at c1; 3.00 ms more by all other "
        "causes."
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
