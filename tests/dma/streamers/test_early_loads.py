"""Early loads of tensors and stores that are put off, by hand."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.schedule import BufferSpec, Direction, Part
from dma.residency.greedy import Residency
from dma.schedule.steps import Emission, NeedKind, TransferNeed
from dma.schedule.streamer import IssuedTransfer, MemoryBudget
from dma.streamers.early_loads import EarlyLoads
from workloads.build.builder import ProgramBuilder

STEPS = 6


def memory(**arrivals: int) -> MemoryBudget:
    builder = ProgramBuilder("two")
    x = builder.elementwise("relu", "a", [builder.input("x", (1, 8, 4, 4))])
    builder.output(builder.elementwise("relu", "b", [x]))
    program = replace(builder.build(), arrivals=arrivals)
    residency = Residency({}, {}, frozenset(), (0, 0), (), {})
    return MemoryBudget(program, load_chip("stm32n6"), 1000, 0, residency, (0, 0))


def rows(start: int, stop: int, of: int = 8) -> Share:
    return Share(Interval(start, stop), of)


def need(
    direction: Direction,
    first: int,
    share: Share,
    kind: NeedKind = "stripe",
    name: str = "a",
    lane: str = "",
) -> TransferNeed:
    part = Part(name, share, weights=kind == "weights")
    lane = lane or f"{direction} {name}"
    return TransferNeed(direction, kind, part, 10, lane, first, first, "op", lane)


class Slack:
    """Requests for bytes, by position."""

    def __init__(self, free: bool = True) -> None:
        self.free, self.taken = free, list[tuple[int, int]]()

    def take(self, position: int, size: int) -> bool:
        self.taken.append((position, size))
        return self.free


def early(
    *needs: TransferNeed,
    free: bool = True,
    straight_chain: tuple[int, ...] = (0,) * STEPS,
    slack: Slack | None = None,
) -> EarlyLoads:
    """Everything issued where it is needed, stores waited for at once."""
    buffers = {n.buffer: BufferSpec(n.buffer, n.bytes, kind="stripe") for n in needs}
    emission = Emission((), list(needs), buffers, {}, straight_chain)
    issued = [
        IssuedTransfer(n, n.buffer, n.first if n.direction == "load" else n.last, n.last) for n in needs
    ]
    return EarlyLoads(memory(), emission, issued, (slack or Slack(free)).take)


def test_a_load_follows_the_stores_of_its_rows() -> None:
    """Rows 0 to 4 are stored at 0 and at 1, rows 4 to 8 at 2 and 3."""
    stores = [need("store", at, rows(2 * at, 2 * at + 2)) for at in range(4)]
    load = need("load", 5, rows(0, 3))
    found = early(*stores, load, free=False)
    assert found.needs == [load]
    assert found.since(load, 0) == 2
    assert found.since(load, 4) == 4
    assert found.since(need("load", 5, rows(4, 5)), 0) == 3
    assert found.since(need("load", 5, rows(4, 7)), 0) == 4
    # Shares of another number of rows always count as overlapping; a weight cannot be stored.
    assert found.since(need("load", 5, rows(0, 1, of=4)), 0) == 4
    assert found.since(need("load", 5, rows(0, 8), "weights"), 0) == 0
    assert found.since(need("load", 5, rows(0, 8), name="x"), 0) == 0


def test_stores_of_other_channels_do_not_delay_a_load() -> None:
    def part(start: int, stop: int) -> Share:
        return Share(Interval(0, 4), 8, Interval(start, stop), 8)

    stores = need("store", 1, part(0, 4)), need("store", 2, part(4, 8))
    found = early(*stores, free=False)
    assert found.since(need("load", 5, part(0, 2)), 0) == 2
    assert found.since(need("load", 5, part(5, 6)), 0) == 3
    assert found.since(need("load", 5, rows(0, 1)), 0) == 3
    assert found.since(need("load", 5, rows(4, 8)), 0) == 0


def test_a_later_store_is_of_the_next_iteration() -> None:
    found = early(need("store", 1, rows(0, 8)), need("store", 4, rows(0, 8)), free=False)
    assert found.since(need("load", 3, rows(0, 2)), 0) == 2


def test_only_whole_tensors_and_first_stripes_are_loaded_early() -> None:
    first, second = need("load", 2, rows(0, 4)), need("load", 3, rows(4, 8))
    whole = need("load", 4, rows(0, 8), "tensor")
    block = need("load", 2, rows(0, 8), "weights", lane="weights")
    other = need("load", 3, rows(0, 4), lane="another op's")
    found = early(first, second, whole, block, other)
    assert found.needs == [first, whole, other]
    assert [decision.need for decision in found.fixed] == [second, block]


def test_the_last_store_runs_during_the_next_step_where_bytes_are_free() -> None:
    slack = Slack()
    found = early(need("store", 1, rows(0, 4)), need("store", 2, rows(4, 8)), slack=slack)
    assert [(d.issue, d.due) for d in found.fixed] == [(1, 1), (2, 3)]
    assert slack.taken == [(3, 10)]  # the first one's buffer is written again at 2
    assert [d.due for d in early(need("store", 2, rows(0, 8)), free=False).fixed] == [2]


def test_a_load_waits_for_a_store_that_was_put_off() -> None:
    store, load = need("store", 1, rows(0, 8)), need("load", 4, rows(0, 4))
    found = early(store, load)
    assert found.fixed[0].due == 2
    assert found.since(load, 0) == 3


def test_a_store_is_not_put_off_beyond_its_reader_or_its_straight_run() -> None:
    store = need("store", 1, rows(0, 4))
    assert early(store, need("load", 2, rows(0, 4))).fixed[0].due == 1
    assert early(store, need("load", 2, rows(4, 8))).fixed[0].due == 2
    assert early(store, need("load", 3, rows(0, 4))).fixed[0].due == 2
    assert early(store, straight_chain=(0, 0, 1, 1, 1, 1)).fixed[0].due == 1
    assert early(need("store", STEPS - 1, rows(0, 4))).fixed[0].due == STEPS - 1
    assert early(need("store", 1, rows(0, 8), "tensor")).fixed[0].due == 1


def test_tensors_from_another_core_are_not_loaded_early() -> None:
    load = need("load", 2, rows(0, 4), name="x")
    emission = Emission((), [load], {"load x": BufferSpec("load x", 10)}, {}, (0,) * STEPS)
    found = EarlyLoads(memory(x=1), emission, [IssuedTransfer(load, "load x", 2, 2)], Slack().take)
    assert not found.needs
    assert [decision.need for decision in found.fixed] == [load]
