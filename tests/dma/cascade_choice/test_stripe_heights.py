"""Options to run ops in stripes, by hand."""

from __future__ import annotations

import numpy as np

from dma.cascade_choice.stripe_heights import StripeHeights, distinct, proportional_heights, stripe_heights


def test_ops_before_the_last_have_as_many_rows_as_belong_to_its_stripe() -> None:
    """The second op has half of the first one's rows, the third one a fifth of the second's."""
    found = proportional_heights((40, 20, 4), [(1, 8), (2, 8), (3, 1), (3, 0)])
    assert [found.of(option, 0) for option in range(4)] == [(8,), (16, 8), (10, 5, 1), (1, 1, 1)]
    assert found.of(2, 1) == (5, 1)
    assert found.lowest.tolist() == [0, 0, 0, 0]


def test_options_may_begin_later() -> None:
    found = stripe_heights(4, [(2, 0, (3, 2)), (4, 1, (5, 6, 7))])
    assert found.stops.tolist() == [2, 4]
    assert found.lowest.tolist() == [0, 1]
    assert (found.of(0, 0), found.of(1, 1)) == ((3, 2), (5, 6, 7))


def test_large_weights_are_loaded_again_inside_of_an_option() -> None:
    one = np.array([3], np.int64)
    found = StripeHeights(one, np.ones((4, 1), np.int64), one * 0, 1, (True, False, True, True))
    assert found.reloaded(0, 0) == (0, 2)
    assert found.reloaded(0, 1) == (1,)


def test_different_values_and_their_places() -> None:
    each, places = distinct(np.array([7, 3, 7, 9], np.int64))
    assert (each.tolist(), places.tolist()) == ([3, 7, 9], [1, 0, 1, 2])
