"""The costs of all paths in words, in JSON and on the page."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.model.path_costs import MAX_COUNT, Extreme, PartCost, Paths, Sample
from reports.run.document import document
from reports.run.page import render_page
from reports.run.paths import method, path_lines
from reports.run.summary import print_summary
from tests.reports.console import on_console
from tests.reports.sample import sample

HALF = Fraction(1, 2)
PATHS = Paths(
    best=Extreme(1000, {"gate": (("none", 1),), "decode": (("2", 1),)}),
    worst=Extreme(4000, {"gate": (("face", 2), ("none", 1), ("face", 3)), "decode": (("6", 1),)}, 3200),
    expected=Fraction(5001, 2),
    count=12,
    parts=(
        PartCost("decode", None, Fraction(1), Fraction(4), Fraction(2000), 400, 600),
        PartCost("gate", "face", HALF, Fraction(2), Fraction(1600), 700, 900),
        PartCost("gate", "<none>", HALF, Fraction(0), Fraction(0), None, None),
    ),
)
SAMPLED = replace(PATHS, sample=Sample(120, 7, 2400.4, 2600.6), count=MAX_COUNT)


def test_lines() -> None:
    lines = {label: (cycles, words) for label, cycles, _, words in path_lines(replace(sample(), paths=PATHS))}
    assert lines["best"][0] == "1,000"
    assert lines["best"][1].endswith("; gate=none, decode=2")
    assert lines["expected"][0] == "2,500.5"
    assert lines["expected"][1].endswith("; exact, over 12 paths")
    assert lines["worst"][1].endswith("; gate=face x2 then none then face x3, decode=6")
    assert lines["worst, lower bound"] == ("3,200", "gap 25.0%; plans whose ops run one after another")


def test_a_sample_says_that_it_is_one() -> None:
    lines = {label: words for label, _, _, words in path_lines(replace(sample(), paths=SAMPLED))}
    assert "of the sample: gate=none" in lines["best"]
    assert "of the sample: gate=face" in lines["worst"]
    assert method(SAMPLED) == (
        "sampled: 120 of more than 10^15 paths, seed 7, 95% confidence 2,400 to 2,601 (Student's t)"
    )
    assert method(replace(PATHS, count=MAX_COUNT)) == "exact, over more than 10^15 paths"


def test_a_documents_share_of_each_part_is_of_the_expected_cycles() -> None:
    found = document(replace(sample(), paths=PATHS))["paths"]
    assert (found["expected_cycles"], found["expected_cycles_exact"]) == (2500.5, "5001/2")
    assert (found["worst"]["path"], found["worst"]["lower_bound_cycles"]) == (None, 3200)
    assert found["parts"][1]["share_of_expected"] == pytest.approx(3200 / 5001)
    sampled = document(replace(sample(), paths=SAMPLED))["paths"]
    assert sampled["count"] is None
    assert sampled["expected_cycles_exact"] is None


def test_without_a_decision_there_is_no_section_on_paths() -> None:
    assert "paths" not in document(sample())
    assert "<caption>Paths" not in render_page(sample())
    assert 'id="parts-title"' not in render_page(sample())


def test_the_terminal() -> None:
    text = on_console(lambda console: print_summary(replace(sample(), paths=PATHS), console))
    assert "\nPaths" in text
    assert "exact, over 12 paths" in text
    assert " iteration " in text  # below "each": the column is narrow
    assert "64.0%" in text
    assert max(len(line) for line in text.splitlines()) <= 80
