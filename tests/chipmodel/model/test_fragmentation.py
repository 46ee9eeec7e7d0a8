"""External fragmentation, by hand and as a property."""

from hypothesis import given, strategies as st

from chipmodel.model.live_sets import external_fragmentation


def test_by_hand() -> None:
    assert external_fragmentation([]) == 0
    assert external_fragmentation([7]) == 0
    assert external_fragmentation([0, 7, 0]) == 0
    assert external_fragmentation([3, 7, 2]) == 5
    assert external_fragmentation(iter([4, 4])) == 4


@given(st.lists(st.integers(0, 99), min_size=1))
def test_only_joining_blocks_lowers_it(blocks: list[int]) -> None:
    """Free bytes in one block are not fragmented; the largest block can be allocated at once."""
    assert external_fragmentation([sum(blocks)]) == 0
    assert sum(blocks) - external_fragmentation(blocks) == max(blocks)
    joined = [sum(blocks[:2]), *blocks[2:]]
    assert external_fragmentation(joined) <= external_fragmentation(blocks)
