import json
from dataclasses import replace
from fractions import Fraction

from reports.diff.difference import compare_results
from reports.diff.words import document, sentences
from tests.reports.diff.test_difference import answer

MHZ = Fraction(1, 1000)
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
