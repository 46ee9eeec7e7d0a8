"""Positions in a chart, in pixels: of values on both axes, and of the names of lines."""

from __future__ import annotations

import pytest

from reports.svg_chart import BOTTOM, LEFT, NAME_HEIGHT, RIGHT, TOP, ChartAxis, ChartLine, SvgChart, stepped

AXIS = ChartAxis("gap", (-1, 3), (), log=False)
CHART = SvgChart("wide", 284, 178, AXIS, AXIS, ())


def test_the_plot_is_inside_of_the_margins() -> None:
    assert CHART.edges == (LEFT, 284 - RIGHT, TOP, 178 - BOTTOM)
    assert SvgChart("wide", 284, 178, AXIS, AXIS, (), left=10, right=30).edges[:2] == (10, 254)


def test_values_go_to_the_right_and_upwards_and_stay_inside() -> None:
    assert [CHART.across(value) for value in (-5, -1, 0, 3, 7)] == [64, 64, 114, 264, 264]
    assert [CHART.up(value) for value in (-5, -1, 0, 3, 7)] == [126, 126, 101, 26, 26]


def test_equal_ratios_are_equal_shares_of_a_logarithmic_axis() -> None:
    axis = ChartAxis("bytes", (10, 1000), ())
    assert [axis.share(value) for value in (1, 10, 100, 1000)] == pytest.approx([0, 0, 0.5, 1])


def test_steps_are_level_up_to_the_next_point() -> None:
    assert stepped([(-1, -1)]) == ((-1, -1),)
    assert stepped([(-1, -1), (0, 3)]) == ((-1, -1), (0, -1), (0, 3))
    assert CHART.corners([(-1, -1), (0, 3)]) == "64.0,126.0 114.0,26.0"


def test_names_of_lines_that_end_together_are_apart() -> None:
    lines = tuple(ChartLine(name, "", path=((0, 0), (3, y))) for name, y in (("b", -1), ("a", -1), ("c", 3)))
    found = [(line.name, height) for line, _, height in SvgChart("", 284, 178, AXIS, AXIS, lines).named()]
    assert found == [("c", 26), ("a", 126 - NAME_HEIGHT), ("b", 126)]
