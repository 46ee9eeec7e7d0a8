"""Numbers in groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.geometry.groups import joined


def test_numbers_of_links_with_a_number_in_common_are_together() -> None:
    assert joined(7, [(5, 2), (), (2, 6), (4,), (3, 1)]) == [(0,), (1, 3), (2, 5, 6), (4,)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=8))
def test_groups_are_the_smallest_that_divide_no_link(links: list[list[int]]) -> None:
    groups = [{number} for number in range(10)]
    for link in links:
        inside = [group for group in groups if group & set(link)]
        groups = [group for group in groups if group not in inside]
        groups += [set().union(*inside)] if inside else []
    assert joined(10, links) == sorted(tuple(sorted(group)) for group in groups)
