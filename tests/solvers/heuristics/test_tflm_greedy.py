from hypothesis import given, strategies as st

from solvers.heuristics.tflm_greedy import ONLINE, greedy_offsets, peak

BUFFERS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 8), st.integers(0, 5), st.integers(0, 30)),
    min_size=1,
    max_size=12,
)


def test_the_largest_comes_first_and_of_equal_ones_the_last() -> None:
    # Worked by hand after greedy_memory_planner.cc: 20 at 0, then the last of the tens below it.
    assert greedy_offsets([10, 20, 10], [(0, 1)] * 3, [ONLINE] * 3) == [30, 0, 20]


def test_a_buffer_takes_the_lowest_gap_that_is_large_enough() -> None:
    # 40 is alive from 0 to 3, 30 above it until 1; from 2 on its place is free.
    assert greedy_offsets([40, 30, 20, 5], [(0, 3), (0, 1), (2, 3), (0, 3)], [ONLINE] * 4) == [0, 40, 40, 70]


def test_given_offsets_stay_and_others_go_around_them() -> None:
    assert greedy_offsets([16, 16, 16], [(0, 1)] * 3, [32, ONLINE, 0]) == [32, 16, 0]


@given(BUFFERS)
def test_no_two_that_are_alive_together_overlap(buffers: list[tuple[int, int, int, int]]) -> None:
    sizes = [size for size, *_ in buffers]
    lives = [(first, first + length) for _, first, length, _ in buffers]
    offsets = greedy_offsets(sizes, lives, [ONLINE] * len(buffers))
    for a in range(len(buffers)):
        for b in range(a):
            apart = lives[a][0] > lives[b][1] or lives[b][0] > lives[a][1]
            assert apart or offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]


@given(BUFFERS)
def test_each_is_where_a_search_of_all_places_puts_it(buffers: list[tuple[int, int, int, int]]) -> None:
    """A slow twin: buffers in the same order, every offset tried from 0 on."""
    sizes = [size for size, *_ in buffers]
    lives = [(first, first + length) for _, first, length, _ in buffers]
    fixed = [offset if offset > 25 else ONLINE for *_, offset in buffers]
    found = list(fixed)
    done = [index for index, offset in enumerate(fixed) if offset != ONLINE]
    order = sorted((i for i in reversed(range(len(buffers))) if fixed[i] == ONLINE), key=lambda i: -sizes[i])
    for index in order:
        others = [b for b in done if lives[b][0] <= lives[index][1] and lives[index][0] <= lives[b][1]]
        taken = {at for b in others for at in range(found[b], found[b] + sizes[b])}
        found[index] = next(at for at in range(200) if not taken & set(range(at, at + sizes[index])))
        done.append(index)
    # Offsets that are given may overlap each other; the planner then looks above the highest only.
    given_places = [(found[i], found[i] + sizes[i]) for i in range(len(buffers)) if fixed[i] != ONLINE]
    if all(a[1] <= b[0] or b[1] <= a[0] for a in given_places for b in given_places if a is not b):
        assert greedy_offsets(sizes, lives, fixed) == found


def test_the_peak_is_the_highest_end() -> None:
    assert peak([10, 5], [0, 20]) == 25
    assert peak([], []) == 0
