from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from reports.diff.difference import compare_results
from reports.diff.words import diff_document, sentences, time_words
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


def test_small_reasons_are_not_named_but_the_parts_add_up() -> None:
    a = {"c1": {"compute": 1000, "weights": 100, "bank": 1}}
    b = {"c1": {"compute": 1100, "weights": 110, "bank": 0}}
    assert said(a, b) == [
        "B is 109 ms (9.9%) slower: 100 ms more computing, all of it at c1; 9.00 ms more by all other causes."
    ]


def test_negligible_reasons_are_left_out_of_the_sentence() -> None:
    a = {"c1": {"compute": 1000, "bank": 1}}
    b = {"c1": {"compute": 1100, "bank": 0}}
    assert said(a, b) == ["B is 99.0 ms (9.9%) slower: 100 ms more computing, all of it at c1."]


def test_equal_times_with_different_reasons() -> None:
    assert said({"c": {"compute": 10}}, {"c": {"weights": 10}}) == [
        "B takes as long as A: 10.0 ms more waiting for weights, all of it at c; partly offset by "
        "10.0 ms less computing, all of it at c."
    ]
    assert said({"c": {"compute": 10}}, {"c": {"compute": 10}})[0].startswith("A and B are the same run")
    same = compare_results(answer({"c": {"compute": 9}}), answer({"c": {"compute": 9}}, packer="pool"))
    assert sentences(same) == ["B takes as long as A."]


def test_a_clock_alone_is_a_reason() -> None:
    ops = {"c": {"compute": 100}}
    diff = compare_results(answer(ops, mhz=MHZ), answer(ops, mhz=2 * MHZ))
    assert sentences(diff) == ["B is 50.0 ms (50.0%) faster: 50.0 ms by the faster clock."]


def test_cores_are_a_reason() -> None:
    diff = compare_results(
        answer({"c": {"compute": 100}}, mhz=MHZ), answer({"c": {"compute": 100}}, mhz=MHZ, cores=2)
    )
    assert sentences(diff) == ["B is 50.0 ms (50.0%) faster: 50.0 ms less as 2 cores share the work of 1."]


def test_peak_and_traffic_have_sentences_where_they_differ() -> None:
    a = answer({"c": {"compute": 10}}, mhz=MHZ)
    b = replace(a, totals={**a.totals, "peak_bytes": 2048}, moved_bytes={"load weights": 100}, fits=False)
    a = replace(a, totals={**a.totals, "peak_bytes": 1024})
    assert sentences(compare_results(a, b))[1:] == [
        "A fits the chip, B does not.",
        "The peak of B is 1.0 KiB (100.0%) higher.",
        "B moves 100 B more to and from Psram.",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (Fraction(31, 10), "3.10 ms"),
        (Fraction(1234), "1,234 ms"),
        (Fraction(1, 80), "12.5 µs"),
        (0, "0.00 ns"),
    ],
)
def test_times_have_three_digits(milliseconds: Fraction, words: str) -> None:
    assert time_words(Fraction(milliseconds)) == words


def test_the_document_is_complete_and_adds_up() -> None:
    a, b = answer({"c": {"compute": 10}}), answer({"c": {"compute": 7}, "d": {"weights": 9}}, {"core": 1})
    made = json.loads(json.dumps(diff_document(compare_results(a, b))))
    assert made["change_cycles"] == 7
    for key in ("causes", "parts"):
        assert sum(part["cycles"] for part in made[key]) == 7
    assert sum(op["cycles"] for op in made["ops"]) + made["rest_cycles"] == 7
    assert made["answer"].startswith("B is 7.00 µs (70.0%) slower")
