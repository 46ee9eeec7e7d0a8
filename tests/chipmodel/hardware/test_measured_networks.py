"""Measured networks: their errors, intervals and nearest ones by hand, and as text in a chip file."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path
from random import Random

import pytest

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip_file import load_chip, parse_chip
from chipmodel.hardware.measured_networks import (
    APART,
    WIDER,
    BlindRow,
    MeasuredNetwork,
    NetworkClass,
    NetworkTraits,
    blind_rows,
    classes,
    network_rows,
    read_blind,
    read_networks,
    summary,
)

HERE = Place("chip.yaml", 3, 1)


def row(name: str, measured: float, predicted: float = 1.0, kind: str = "a") -> MeasuredNetwork:
    traits = NetworkTraits(kind, 1000, 100, 10, frozenset({"conv", "add"}))
    return MeasuredNetwork(name, name, measured, predicted, predicted, traits)


def of(ratios: Sequence[float], family: str = "") -> NetworkClass:
    rows = [replace(row(f"n{i}", each), family=family or f"n{i}") for i, each in enumerate(ratios)]
    (found,) = classes(rows).values()
    return found


def wider(low: float, high: float) -> object:
    """As the rows that were kept apart have shown it to be."""
    further = (high / low) ** ((WIDER - 1) / 2)
    return pytest.approx((low / further, high * further))


def test_the_interval_of_fourteen_families_leaves_out_the_one_far_off() -> None:
    """Thirteen of them have the fifteenth between them in 12 of 15 cases."""
    found = of([*(1 + each / 100 for each in range(13)), 90])
    assert found.interval == wider(1, 1.12)
    assert found.promises


def test_of_few_families_the_interval_goes_as_far_as_students() -> None:
    """Logarithms of 0, 1, 2 and 3 times log 2, whose squares come to 5, beside 2 times 0.21 squared."""
    found = of([2, 4, 1, 8])
    reach = exp(1.476 * sqrt((5 * log(2) ** 2 + 2 * 0.21**2) / 5 * 5 / 4))
    assert found.interval == wider(2**1.5 / reach, 2**1.5 * reach)
    assert found.promises


def test_of_nine_families_all_are_inside_and_no_more() -> None:
    assert of([1, 2, 3, 4, 5, 6, 7, 8, 90]).interval == wider(1, 90)


def test_a_single_family_spreads_as_those_of_other_boards() -> None:
    found = of([2.0, 2.0], "one")
    reach = exp(1.886 * 0.21 * sqrt(2))
    assert found.interval == wider(2 / reach, 2 * reach)
    assert not found.promises
    assert not of([1, 1, 1, 1, 1, 1, 1, 1, 1, 9], "one").promises


@pytest.mark.parametrize("families", [2, 3, 5, 8, 12, 20])
def test_of_further_families_four_in_five_are_inside(families: int) -> None:
    """Random families, whose logarithms deviate by 0.21, and one more each time."""
    draw, inside = Random(families), 0
    for _ in range(600):
        *known, further = (exp(draw.gauss(0.1, 0.21)) for _ in range(families + 1))
        low, high = of(known).interval
        inside += low <= further <= high
    assert 0.76 <= inside / 600 <= 0.95


def test_a_family_of_many_networks_weighs_as_much_as_a_network_alone() -> None:
    """Of fourteen families thirteen are to be inside; of one family each network counts a part."""
    many = [replace(row(f"m{i}", 10 + i, 10), family="many") for i in range(11)]
    (found,) = classes([*many, *(row(f"n{i}", 10, 10) for i in range(13))]).values()
    assert found.interval == (1, 1)
    (found,) = classes([*many, *(row(f"n{i}", 10, 10) for i in range(12)), row("far", 4, 10)]).values()
    assert found.interval == wider(1, 2)


def test_rows_of_one_workload_are_one_network() -> None:
    (found,) = classes([row("one", 2), row("one", 4), row("two", 2)]).values()
    assert [each.measured for each in found.networks] == [3, 2]
    assert found.mean_error == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_a_network_with_several_settings_is_one() -> None:
    (found,) = classes([row("one set=1", 2), row("one set=2", 4), row("two", 2)]).values()
    assert (found.count, len(found.networks)) == (2, 3)


def test_all_rows_are_in_the_summary_those_apart_last() -> None:
    rows = [row("x", 4, kind=APART), row("one", 2), row("two", 1, kind="b")]
    assert summary(rows).split("; ") == [
        "mean error 41.7% over 3 published rows",
        "no error promised of 1 network with a (50.0% off)",
        "no error promised of 1 network with b (0.0% off, in 1 of the 4 families needed)",
        "no error promised of 1 of another network or software (75.0% off)",
    ]


def test_a_class_that_is_too_far_off_promises_no_error_and_has_all_in_its_interval() -> None:
    """Of fourteen families one lies outside where they are 25 % off in the mean."""
    near, far = of([1.0] * 13 + [4]), of([*[1.3333] * 12, 1.4, 4])
    assert (near.is_known, near.interval) == (True, (1, 1))
    assert (far.is_known, far.interval) == (False, wider(1.3333, 4))
    assert not replace(near, kind=APART).is_known


@pytest.mark.parametrize(("ratios", "answers"), [([1, 2, 2.4] * 3, True), ([1, 2, 2.6] * 3, False)])
def test_an_interval_of_more_than_three_times_is_no_answer(ratios: list[float], answers: bool) -> None:
    assert bool(of(ratios).unknown) is not answers
    few = replace(of([1.0, 1.1]), withdrawn="others are off")
    assert (few.unknown, few.is_known) == ("others are off", False)


def blind(name: str, inside: bool, kind: str = "a") -> BlindRow:
    return BlindRow("2026-11-28", name, kind, 10.0, 10.0, 9.0, 11.0 if inside else 9.5)


@pytest.mark.parametrize(
    ("inside", "outside", "broken"),
    [(0, 1, False), (0, 2, True), (1, 2, False), (1, 3, True), (9, 12, True), (16, 5, False)],
)
def test_a_class_keeps_its_promise_while_rows_added_later_are_inside(
    inside: int, outside: int, broken: bool
) -> None:
    """So few of 80 % or fewer come with a chance of 0.2, 0.04, 0.1, 0.03, 0.0004 and 0.4."""
    rows = [row(f"n{n}", 1 + n / 100) for n in range(9)]
    later = [blind(f"later{n}", n < inside) for n in range(inside + outside)]
    (found,) = classes(rows, later).values()
    assert (found.broken, found.is_known) == (broken, not broken)
    assert (f"of {inside + outside} added later {inside} were inside" in summary(rows, later)) is broken
    assert "no error promised of 9 networks with a (for a reason)" in summary(rows, (), "for a reason")
    assert not classes(rows, [replace(each, kind="b") for each in later])["a"].broken
    assert not classes(rows, [replace(each, workload="n1") for each in later])["a"].broken


def test_blind_rows_are_read_as_they_were_written_oldest_first() -> None:
    rows = [replace(blind("new", True), date="2026-12-01"), blind("old", False), blind("none", False)]
    rows[2] = replace(rows[2], low=0.0, high=0.0)
    text = blind_rows(rows)
    assert [each.workload for each in read_blind(text, HERE)] == ["old", "none", "new"]
    assert {*read_blind(text, HERE)} == {*rows}
    assert rows[2].inside is None
    with pytest.raises(BadInput, match="'blind' is not a table"):
        read_blind(text + "x,y\n", HERE)


def test_the_distance_is_of_logarithms() -> None:
    small, large = (NetworkTraits("a", macs, 9, 9, frozenset()) for macs in (9, 99))
    assert small.distance(large) == pytest.approx(2.302585)
    assert small.distance(small) == 0


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = (row("zoo:a?b=1&c=2 set=1", 1.25), row("two", 3, kind="b"))
    text = network_rows(rows)
    assert read_networks(text, HERE) == rows
    block = "".join(f"  {line}\n" for line in text.splitlines())
    chip = parse_chip(f"base: stm32n6\ncompared_with: mine\nmeasured: |\n{block}", "mine.yaml")
    assert chip.measured == rows
    assert chip.accuracy == f"mine: {summary(rows)}; no numbers or choices decided by these networks"
    assert load_chip("stm32n6").measured != rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is not a table of networks"),
        ("a,b\n1,2\n", "is not a table of networks"),
        (network_rows([row("one", 1)]) + "two,1\n", "cannot be read: two,1"),
        (network_rows([row("one", 1)]).replace(",1,1,1,", ",0,1,1,"), "cannot be read: one"),
        (network_rows([row("one", 1)]).replace(",1000,", ",many,"), "cannot be read: one"),
    ],
)
def test_what_is_no_row_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_networks(text, HERE)
    assert fault in refusal.value.what
    assert refusal.value.where == HERE


def test_a_row_that_joins_the_table_keeps_the_prediction_from_before_it_was_seen() -> None:
    """Fitted since, it is exact; its first prediction was a tenth of the time, and a later one half of it."""
    rows = [row(f"n{n}", 10, 10) for n in range(14)]
    later = [replace(blind("n3", False), predicted=1.0), replace(blind("n3", False), predicted=5.0)]
    (alone,), (found,) = classes(rows).values(), classes(rows, later).values()
    assert (alone.held_out_error, alone.unseen) == (0, 0)
    assert (found.unseen, found.mean_error) == (1, 0)
    assert found.held_out_error == pytest.approx(0.9 / 14)
    assert found.held_out_words == "6.4% with families held out, 1 of them before they were seen"
    two = [replace(later[0], workload=f"n{n}") for n in (3, 4)]
    assert [of.interval for of in (found, *classes(rows, two).values())] == [(1, 1), wider(1, 10)]
