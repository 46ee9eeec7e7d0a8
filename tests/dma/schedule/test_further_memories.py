"""Which tensors and weights lie in further memories, by hand on small schedules."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.fit import further_addresses, off_chip_bytes
from chipmodel.model.program import Program
from chipmodel.model.schedule import (
    PSRAM,
    WEIGHTS,
    Direction,
    OffChipMove,
    Part,
    Schedule,
    Step,
    StepLoop,
    Transfer,
    steps,
)
from dma.schedule.build import StreamRequest, build_schedule
from dma.schedule.forecast import TransferTimes
from dma.schedule.further_memories import in_further_memories, with_further_memories
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget
from dma.streamers.prefetch_greedy import STREAMERS
from tests.support.chips import LUNA_LIKE
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build

SIZE = 1024
AMPLE = 1 << 20
NAMES = ("x", "a", "b", "c", "d", "y")


def chip(size: int, *more: FurtherMemory) -> Chip:
    second = FurtherMemory("second", size, 10, Fraction(8), 10, Fraction(8))
    return replace(LUNA_LIKE, memories=(second, *more))


START = further_addresses(chip(SIZE))["second"].start


Moved = tuple[Direction, str, int]


def program() -> Program:
    """A chain of ops from ``x`` to ``y``, each named after what it makes."""
    net = ProgramBuilder("chain")
    value = net.input("x", (1, 1, 1, SIZE))
    for name in NAMES[1:]:
        value = net.elementwise("relu", f"make {name}", [value], outputs=[name])
    net.output(value)
    return net.build()


def schedule(*moved: Moved, cycles: int = 20_000, loop: Interval | None = None, count: int = 8) -> Schedule:
    """Steps of ``cycles`` each, those of ``loop`` ten times; what each transfer does, of which tensor (or the
    weights of an op), and at which step."""
    body: list[Step | StepLoop] = [
        Step(at, f"make {NAMES[1 + at % 5]}", Interval(0, 1), Interval(0, 1), cycles, (), (), f"step {at}")
        for at in range(count)
    ]
    if loop:
        inside = tuple(step for step in body[loop.start : loop.stop] if isinstance(step, Step))
        body[loop.start : loop.stop] = [StepLoop("loop", 10, inside)]
    homes = {name: Interval(SIZE * i, SIZE * (i + 1)) for i, name in enumerate((*NAMES, "make b", "make c"))}
    transfers = tuple(
        Transfer(
            f"{number}",
            direction,
            Part(name, weights=name in ("make b", "make c")),
            f"buffer {number}",
            SIZE,
            at,
            at,
            homes[name].start,
            homes[name],
        )
        for number, (direction, name, at) in enumerate(moved)
    )
    return Schedule(tuple(body), transfers, {}, "by hand")


def loads_of_x(*positions: int) -> list[Moved]:
    return [("load", "x", at) for at in positions]


def memories(found: Schedule) -> list[str]:
    return [transfer.memory for transfer in found.transfers]


def test_what_the_plan_makes_has_its_home_in_a_further_memory() -> None:
    made = schedule(("store", "a", 1), ("load", "a", 4), ("load", "x", 0), ("store", "y", 7))
    found = with_further_memories(program(), made, chip(SIZE))
    assert memories(found) == ["second", "second", "", ""]
    assert found.transfers[0].home == found.transfers[1].home == Interval(START, START + SIZE)
    assert found.transfers[0].psram == START
    assert found.moves == ()
    assert [each.home.start for each in found.transfers[2:]] == [0, SIZE]  # Psram has no gap where a was
    assert off_chip_bytes(found) == 2 * SIZE
    assert [*steps(found.body)] == [*steps(made.body)]


def test_what_saves_the_most_cycles_has_the_room() -> None:
    made = schedule(
        ("store", "a", 0), ("store", "b", 1), ("load", "a", 5), ("load", "b", 5), ("load", "b", 6)
    )
    assert memories(with_further_memories(program(), made, chip(SIZE))) == [
        "",
        "second",
        "",
        "second",
        "second",
    ]
    both = with_further_memories(program(), made, chip(2 * SIZE))
    assert memories(both) == ["second"] * 5
    assert {each.home.start for each in both.transfers} == {START, START + SIZE}
    assert memories(with_further_memories(program(), made, chip(SIZE - 1))) == [""] * 5


def test_a_memory_slower_than_psram_holds_nothing() -> None:
    slow = replace(
        chip(SIZE).memories[0], load_bytes_per_cycle=Fraction(1, 100), store_bytes_per_cycle=Fraction(1, 100)
    )
    made = schedule(("store", "a", 0), ("load", "a", 2))
    assert memories(with_further_memories(program(), made, replace(LUNA_LIKE, memories=(slow,)))) == ["", ""]


def test_the_fastest_memory_with_room_is_taken() -> None:
    third = FurtherMemory("third", SIZE, 10, Fraction(4), 10, Fraction(4))
    made = schedule(
        ("store", "a", 0), ("store", "b", 0), ("load", "a", 5), ("load", "b", 5), ("load", "b", 6)
    )
    found = with_further_memories(program(), made, chip(SIZE, third))
    assert memories(found) == ["third", "second", "third", "second", "second"]
    assert found.transfers[0].home == further_addresses(chip(SIZE, third))["third"]


def test_an_input_that_is_read_often_is_copied() -> None:
    made = schedule(*loads_of_x(0, 3, 5, 6))
    found = with_further_memories(program(), made, chip(SIZE))
    assert memories(found) == ["", "second", "second", "second"]
    home, target = Interval(0, SIZE), Interval(START, START + SIZE)
    # Two cycles of computing for each cycle of the move: one step of 20,000 is enough.
    move = OffChipMove("move x to second", Part("x"), SIZE, PSRAM, home, "second", target, 2, 3)
    assert found.moves == (move,)
    assert [each.home for each in found.transfers] == [home, target, target, target]
    once = schedule(("load", "x", 3))
    assert with_further_memories(program(), once, chip(SIZE)).moves == ()


def test_a_long_move_is_issued_earlier() -> None:
    made = schedule(*loads_of_x(3, 5, 6), cycles=1500)
    (move,) = with_further_memories(program(), made, chip(SIZE)).moves
    assert (move.issue, move.due) == (0, 3)


def test_weights_that_a_loop_loads_again_are_copied_before_it() -> None:
    made = schedule(("load", "make c", 4), loop=Interval(3, 6))
    found = with_further_memories(program(), made, chip(SIZE))
    (move,) = found.moves
    assert (move.source, move.memory, move.issue, move.due) == (WEIGHTS, "second", 1, 2)
    assert memories(found) == ["second"]
    other = schedule(("load", "make c", 4), ("store", "a", 3), ("load", "a", 5), loop=Interval(3, 6))
    assert memories(with_further_memories(program(), other, chip(SIZE))) == ["", "second", "second"]


def test_nothing_is_moved_inside_a_loop() -> None:
    made = schedule(*loads_of_x(1, 3, 5), loop=Interval(0, 8))
    assert with_further_memories(program(), made, chip(SIZE)).moves == ()


def test_without_room_in_psram_nothing_is_moved() -> None:
    made = schedule(*loads_of_x(0, 3, 5, 6))
    assert in_further_memories(program(), made, chip(SIZE), AMPLE).moves
    assert not in_further_memories(program(), made, chip(SIZE), SIZE - 1).moves


def test_streamers_forecast_with_the_times_of_the_memories_that_transfers_use() -> None:
    """The transfers are issued a second time, each at the cost of its own memory, and not worse."""
    tried: list[list[IssuedTransfer]] = []

    def issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
        issued = STREAMERS[-1].issue(memory, emission)
        tried.append(issued.transfers)
        return issued

    fast = chip(64 << 10)
    request = StreamRequest(build("resnet8"), fast, 20 << 10)
    made = build_schedule(request, replace(STREAMERS[-1], issue=issue), {})
    cycles_of = TransferTimes(fast)
    costs = Counter((t.part, t.direction, cycles_of.of(t)) for t in made.transfers)
    before, after = (Counter((n.part, n.direction, cycles_of.of(n)) for n in needs(i)) for i in tried[-2:])
    assert after == costs != before
    homes = {t.memory for t in made.transfers}
    assert homes == {"", "second"}


def test_the_first_schedule_stays_where_the_second_would_be_slower() -> None:
    tried: list[int] = []

    def issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
        """The second time each load is issued only where it is due."""
        issued = STREAMERS[-1].issue(memory, emission)
        tried.append(len(tried))
        late = [replace(each, issue=each.due) for each in issued.transfers]
        return issued._replace(transfers=late) if len(tried) % 2 == 0 else issued

    request = StreamRequest(build("resnet8"), chip(64 << 10), 20 << 10)
    made = build_schedule(request, replace(STREAMERS[-1], issue=issue), {})
    assert any(t.direction == "load" and t.issue < t.due for t in made.transfers)


def needs(issued: Iterable[IssuedTransfer]) -> list[TransferNeed]:
    return [each.need for each in issued]
