"""The order of elements in memory, against arrays that hold their own numbers."""

from math import prod

import numpy as np
from hypothesis import given, strategies as st

from chipmodel.geometry.layout import LAYOUTS, Storage

SIZES = (1, 2, 3, 4, 6)


def numbers_in_memory(storage: Storage) -> list[int]:
    """By place in memory, the number of the element in C order."""
    array = np.arange(prod(storage.shape)).reshape(storage.shape)
    return array.transpose(storage.order).reshape(-1).tolist()


shapes = st.lists(st.sampled_from(SIZES), min_size=1, max_size=5).map(tuple)
storages = st.builds(Storage, shapes, st.sampled_from(LAYOUTS))


@given(storages, shapes, st.sampled_from(LAYOUTS))
def test_storages_have_the_same_order_where_their_elements_lie_at_the_same_places(
    one: Storage, shape: tuple[int, ...], layout: str
) -> None:
    for each in LAYOUTS:
        other = Storage(shape, each)
        alike = numbers_in_memory(one) == numbers_in_memory(other)
        assert one.same_order(other) == other.same_order(one) == alike
    split = split_channels(one)
    assert one.same_order(split) == (numbers_in_memory(one) == numbers_in_memory(split))


def split_channels(storage: Storage) -> Storage:
    """The storage with its axis 1 as two axes, or with its only axis split."""
    axis = min(1, len(storage.shape) - 1)
    first = next(n for n in (3, 2, 1) if storage.shape[axis] % n == 0)
    pieces = (first, storage.shape[axis] // first)
    return Storage((*storage.shape[:axis], *pieces, *storage.shape[axis + 1 :]), storage.layout)


def test_the_channels_of_an_image_split_into_groups_lie_as_before() -> None:
    whole, groups = Storage((1, 12, 5, 7), "image"), Storage((1, 3, 4, 5, 7), "image")
    assert whole.same_order(groups)
    assert not whole.same_order(Storage((1, 3, 4, 5, 7), "matrix"))
    assert not whole.same_order(Storage((1, 12, 7, 5), "image"))
