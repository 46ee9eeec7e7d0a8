"""The banks that an access uses; the search for bank conflicts equals stepping through every cycle."""

from random import Random

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip import Arbitration, Banks, SharedMemory
from chipmodel.machine import bank_conflicts
from chipmodel.machine.bank_conflicts import BankConflicts, JointProgress, OpAndTransfer, ProgressLimits
from chipmodel.machine.banks import BankMap, bank_map
from chipmodel.machine.npu_accesses import AccessStream
from chipmodel.timing.shape import TransferShape

ARBITRATIONS: tuple[Arbitration, ...] = ("npu first", "dma first", "round robin")


def cycle_by_cycle(
    banks: BankMap, pair: OpAndTransfer, start: JointProgress, limits: ProgressLimits
) -> JointProgress:
    now = JointProgress(0, start.op, start.data, start.dma_first)
    while limits.remaining(now) > 0:
        npu = 0
        for stream in pair.streams:
            address = stream.address_in(now.op)
            npu |= banks.mask(address, stream.width) if address is not None else 0
        beat = pair.shape.beat(now.data)
        dma = banks.mask(pair.base + beat[0], beat[1]) if beat else 0
        npu_goes, dma_goes = banks.grants(0, npu, dma, now.dma_first)
        if npu and dma and npu_goes != dma_goes and banks.arbitration == "round robin":
            now.dma_first = npu_goes
        now = JointProgress(now.cycles + 1, now.op + npu_goes, now.data + dma_goes, now.dma_first, dma_goes)
    return now


def random_pair(random: Random) -> OpAndTransfer:
    lines, pace, scale = random.randint(1, 60), random.randint(4, 90), random.randint(1, 7)
    first, line = random.randint(0, 40), random.choice((4, 8, 32))
    size = lines * line - random.randint(0, line - 1)
    data = max(1, -(-(first + lines * pace) // scale))
    shape = TransferShape(
        0, data, size, line, random.choice((1, 4, 8)), random.randint(1, 3), first, pace, scale
    )
    return OpAndTransfer(
        tuple(random_stream(random) for _ in range(random.randint(1, 3))), shape, random.randint(0, 300)
    )


def random_stream(random: Random) -> AccessStream:
    return AccessStream(
        start=random.randint(0, 120),
        stride=random.choice((1, 1, 2, 5, 19)),
        count=random.randint(1, 300),
        width=random.choice((1, 8, 16)),
        address=random.randint(0, 300),
        span=random.randint(16, 900),
    )


@pytest.mark.slow
@pytest.mark.parametrize("remembered", [10, bank_conflicts.MAX_REMEMBERED])
def test_progress_equals_that_of_stepping_through_every_cycle(
    monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    monkeypatch.setattr(bank_conflicts, "MAX_REMEMBERED", remembered)
    lost = 0
    for seed in range(60):
        random = Random(seed)
        arbitration = random.choice(ARBITRATIONS)
        banks = BankMap(random.choice((4, 16)), random.choice((1, 2, 8)), 1, arbitration, False)
        if seed % 3 == 0:
            banks = BankMap(random.choice((100, 400)), random.choice((4, 8)), 1, arbitration, True)
        conflicts = BankConflicts(banks)  # remembers phases from run to run
        for _ in range(20):
            pair = random_pair(random)
            start = JointProgress(
                0, random.randint(0, 50), random.randint(0, pair.shape.data - 1), arbitration == "dma first"
            )
            limits = ProgressLimits(random.randint(1, 2000), random.randint(60, 900), pair.shape.data)
            found = conflicts.run(pair, start, limits)
            assert found == cycle_by_cycle(banks, pair, start, limits), seed
            lost += 2 * found.cycles - (found.op - start.op) - (found.data - start.data)
    assert lost > 1000


SHAPE = TransferShape(0, 500, 500, 4, 4, 1, 0, 4, 1)
STREAM = AccessStream(0, 1, 500, 8, 0, 900)


def test_no_cycle_is_lost_without_a_common_bank() -> None:
    banks = BankMap(1000, 2, 1, "npu first", True)
    pair = OpAndTransfer((STREAM,), SHAPE, 1000)
    start, limits = JointProgress(0, 0, 0, False), ProgressLimits(400, 500, 500)
    assert BankConflicts(banks).run(pair, start, limits) == JointProgress(400, 400, 400, False)


def test_no_cycle_is_lost_with_two_ports() -> None:
    pair = OpAndTransfer((STREAM,), SHAPE, 0)
    start, limits = JointProgress(0, 0, 0, True), ProgressLimits(400, 500, 500)
    assert BankConflicts(BankMap(1000, 2, 2, "dma first", True)).run(pair, start, limits).op == 400
    assert BankConflicts(BankMap(1000, 2, 1, "dma first", True)).run(pair, start, limits).op < 400


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 20), st.integers(1, 9))
def test_a_mask_holds_the_bank_of_every_byte(address: int, width: int, unit: int, count: int) -> None:
    banks = BankMap(unit, count, 1, "npu first", False)
    every = {byte // unit % count for byte in range(address, address + width)}
    assert banks.mask(address, width) == sum(1 << bank for bank in every)


def test_with_blocks_each_bank_has_one_range_of_addresses() -> None:
    memory = SharedMemory(1000, 4, Banks(4, 8, "blocks"))
    banks = bank_map(memory)
    assert banks
    assert [banks.mask(a, 1) for a in (0, 249, 250, 999)] == [1, 1, 2, 8]
    assert bank_map(SharedMemory(1000, 4)) is None


A, B, BOTH = 1, 2, 3


@pytest.mark.parametrize(
    ("ports", "cpu", "npu", "dma", "dma_first", "served"),
    [
        (1, 0, A, B, False, (True, True)),
        (1, 0, A, A, False, (True, False)),
        (1, 0, A, A, True, (False, True)),
        (1, 0, BOTH, B, True, (False, True)),
        (1, A, A, 0, False, (False, True)),
        (1, A, A, A, False, (False, False)),
        (1, A, A, B, False, (False, True)),
        # A unit that is not served takes no bank: the other one may be served.
        (1, A, BOTH, B, False, (False, True)),
        (2, 0, A, A, False, (True, True)),
        (2, A, A, A, False, (True, False)),
        (2, A, A, A, True, (False, True)),
        (2, A, A, B, False, (True, True)),
        (3, A, A, A, False, (True, True)),
    ],
)
def test_which_units_are_served(
    ports: int, cpu: int, npu: int, dma: int, dma_first: bool, served: tuple[bool, bool]
) -> None:
    banks = BankMap(16, 8, ports, "npu first", False)
    assert banks.grants(cpu, npu, dma, dma_first) == served
