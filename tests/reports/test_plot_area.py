"""Positions in a plot area, in pixels: shares of its width and height, and of logarithmic axes."""

from __future__ import annotations

import pytest

from reports.plot_area import BOTTOM, LEFT, RIGHT, TOP, PlotArea, log_share

AREA = PlotArea("wide", 284, 178)


def test_the_plot_is_inside_of_the_margins() -> None:
    assert AREA.edges == (LEFT, 284 - RIGHT, TOP, 178 - BOTTOM)
    assert PlotArea("wide", 284, 178, left=10, right=30).edges[:2] == (10, 254)


def test_shares_go_to_the_right_and_upwards_and_stay_inside() -> None:
    assert [AREA.across(share) for share in (-1, 0, 0.25, 1, 2)] == [64, 64, 114, 264, 264]
    assert [AREA.up(share) for share in (-1, 0, 0.25, 1, 2)] == [126, 126, 101, 26, 26]


def test_equal_ratios_are_equal_shares() -> None:
    assert [log_share(value, (10, 1000)) for value in (10, 100, 1000)] == pytest.approx([0, 0.5, 1])
    assert log_share(1, (10, 1000)) == pytest.approx(-0.5)
