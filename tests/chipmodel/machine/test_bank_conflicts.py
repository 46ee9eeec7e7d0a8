"""The search for bank conflicts equals stepping through every cycle."""

from random import Random

import pytest

from chipmodel.hardware.chip import Arbitration
from chipmodel.machine import bank_conflicts
from chipmodel.machine.bank_conflicts import BankConflicts, JointProgress, OpAndTransfer, ProgressLimits
from chipmodel.machine.banks import BankMap
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
