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
    MeasuredNetwork,
    NetworkClass,
    NetworkTraits,
    classes,
    network_rows,
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


def test_the_interval_of_fourteen_families_leaves_out_the_one_far_off() -> None:
    """Thirteen of them have the fifteenth between them in 12 of 15 cases."""
    found = of([*(1 + each / 100 for each in range(13)), 90])
    assert found.interval == (1, 1.12)
    assert found.promises


def test_of_few_families_the_interval_goes_as_far_as_students() -> None:
    """Logarithms of 0, 1, 2 and 3 times log 2, whose squares come to 5, beside 2 times 0.21 squared."""
    found = of([2, 4, 1, 8])
    reach = exp(1.476 * sqrt((5 * log(2) ** 2 + 2 * 0.21**2) / 5 * 5 / 4))
    assert found.interval == pytest.approx((2**1.5 / reach, 2**1.5 * reach))
    assert found.promises


def test_of_nine_families_all_are_inside_and_no_more() -> None:
    assert of([1, 2, 3, 4, 5, 6, 7, 8, 90]).interval == (1, 90)


def test_a_single_family_spreads_as_those_of_other_boards() -> None:
    found = of([2.0, 2.0], "one")
    reach = exp(1.886 * 0.21 * sqrt(2))
    assert found.interval == pytest.approx((2 / reach, 2 * reach))
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
    assert found.interval == (1, 2)


def test_rows_of_one_workload_are_one_network() -> None:
    (found,) = classes([row("one", 2), row("one", 4), row("two", 2)]).values()
    assert [each.measured for each in found.networks] == [3, 2]
    assert found.mean_error == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_a_network_with_several_settings_is_one() -> None:
    (found,) = classes([row("one set=1", 2), row("one set=2", 4), row("two", 2)]).values()
    assert (found.count, len(found.networks)) == (2, 3)


def test_all_rows_are_in_the_summary_those_apart_last() -> None:
    rows = [row("x", 4, kind=APART), row("one", 2), row("two", 1, kind="b")]
    assert summary(rows) == (
        "mean error 41.7% over 3 published rows; no error promised of 1 network with a (50.0% off); "
        "0.0% over 1 network with b; no error promised of 1 of another network or software (75.0% off)"
    )


def test_a_class_that_is_too_far_off_promises_no_error_and_has_all_in_its_interval() -> None:
    """Of fourteen families one lies outside where they are 25 % off in the mean."""
    near, far = of([1.0] * 13 + [4]), of([*[1.3333] * 12, 1.4, 4])
    assert (near.is_known, near.interval) == (True, (1, 1))
    assert (far.is_known, far.interval) == (False, (1.3333, 4))
    assert not replace(near, kind=APART).is_known


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
    assert chip.accuracy == f"mine: {summary(rows)}"
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
