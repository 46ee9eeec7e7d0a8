"""Each kind of violation that the pairwise check of offsets finds, and a byte-by-byte oracle."""

from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from chipmodel.verify.offsets import check

A = Buffer("a", 100, (Interval(0, 2),))
B = Buffer("b", 50, (Interval(1, 3),))
C = Buffer("c", 100, (Interval(2, 4),), alignment=16)


def test_a_correct_plan() -> None:
    assert check(Problem((A, B, C), 150), Plan({"a": 0, "b": 100, "c": 0})) == ()


def test_an_overlap_names_both_buffers_their_bytes_and_times() -> None:
    (fault,) = check(Problem((A, B), 200), Plan({"a": 0, "b": 60}))
    assert fault == ("buffers 'a' and 'b' share bytes [60, 100) while both are alive: [0, 2) and [1, 3)")


def test_missing_negative_misaligned_and_too_high_offsets() -> None:
    faults = check(Problem((A, B, C), 150), Plan({"a": -4, "c": 60}))
    assert [fault.split(",")[0] for fault in faults] == [
        "buffer 'b' has no offset",
        "buffer 'a' starts at -4",
        "buffer 'c' at 60 is not aligned to 16",
        "buffer 'c' ends at 160",
    ]


def test_adjacent_buffers_do_not_overlap() -> None:
    assert check(Problem((A, B), 150), Plan({"a": 0, "b": 100})) == ()
    assert check(Problem((A, C), 100), Plan({"a": 0, "c": 0})) == ()


MEMORIES = (Memory("left", 0, 128), Memory("right", 128, 400))


def test_pins_and_memories() -> None:
    pinned = Buffer("p", 8, (Interval(0, 1),), pinned=64, memories=("right",))
    straddling = Buffer("s", 16, (Interval(5, 6),))
    problem = Problem((pinned, straddling), memories=MEMORIES)
    assert check(problem, Plan({"p": 64, "s": 120})) == (
        "buffer 'p' is in memory 'left', not in right",
        "buffer 's' at 120 does not lie within one memory",
    )
    (fault,) = check(Problem((pinned,)), Plan({"p": 0}))
    assert fault == "buffer 'p' is at 0, but is pinned to 64"


def test_aliases_share_an_offset_and_bytes() -> None:
    problem = Problem((A, B), colocated=(("a", "b"),))
    assert check(problem, Plan({"a": 8, "b": 8})) == ()
    (fault,) = check(problem, Plan({"a": 0, "b": 100}))
    assert fault == "buffers 'a' at 0 and 'b' at 100 must have the same offset"


def test_separated_buffers_share_no_byte_and_buffers_apart_no_memory() -> None:
    (fault,) = check(Problem((A, C), separated=(("c", "a"),)), Plan({"a": 0, "c": 96}))
    assert fault == "buffers 'a' and 'c' share bytes [96, 100), but must be separated"
    apart = Problem((A, C), memories=MEMORIES, apart=(("a", "c"),))
    assert check(apart, Plan({"a": 0, "c": 128})) == ()
    (fault,) = check(apart, Plan({"a": 128, "c": 256}))
    assert fault == "buffers 'a' and 'c' are both in memory 'right', but must be apart"


spans = st.tuples(st.integers(0, 6), st.integers(1, 4)).map(lambda pair: Interval(pair[0], sum(pair)))
buffers = st.lists(
    st.tuples(st.integers(0, 6), st.lists(spans, min_size=1, max_size=2), st.integers(0, 12)), max_size=6
)


@given(buffers)
def test_check_finds_a_byte_that_two_live_buffers_hold(
    items: list[tuple[int, list[Interval], int]],
) -> None:
    """The oracle marks every byte at every position."""
    problem = Problem(tuple(Buffer(str(i), n, tuple(live)) for i, (n, live, _) in enumerate(items)))
    plan = Plan({str(i): offset for i, (_, _, offset) in enumerate(items)})
    owners: dict[tuple[int, int], set[str]] = {}
    for buffer in problem.buffers:
        for position in {p for i in buffer.live for p in range(i.start, i.stop)}:
            for byte in range(buffer.bytes):
                owners.setdefault((position, plan.offsets[buffer.name] + byte), set()).add(buffer.name)
    assert bool(check(problem, plan)) == any(len(names) > 1 for names in owners.values())
