"""The search for meetings against looking at every cycle."""

from __future__ import annotations

from random import Random

from chipmodel.chip.chip import Arbitration
from chipmodel.machine.bank_conflicts import BankConflicts, Ends, Pair, Passage
from chipmodel.machine.banks import BankMap
from chipmodel.machine.npu_accesses import Stream
from dma.timing.shape import TransferShape

ARBITRATIONS: tuple[Arbitration, ...] = ("npu first", "dma first", "round robin")


def plainly(banks: BankMap, pair: Pair, start: Passage, ends: Ends) -> Passage:
    """One cycle after the other."""
    now = Passage(0, start.op, start.data, start.dma_first)
    while ends.left(now) > 0:
        npu = 0
        for stream in pair.streams:
            address = stream.at(now.op)
            npu |= banks.mask(address, stream.width) if address is not None else 0
        beat = pair.shape.beat(now.data)
        dma = banks.mask(pair.base + beat[0], beat[1]) if beat else 0
        npu_goes, dma_goes = banks.grants(0, npu, dma, now.dma_first)
        if npu and dma and npu_goes != dma_goes and banks.arbitration == "round robin":
            now.dma_first = npu_goes
        now = Passage(now.cycles + 1, now.op + npu_goes, now.data + dma_goes, now.dma_first, dma_goes)
    return now


def random_pair(random: Random) -> Pair:
    lines, pace, scale = random.randint(1, 60), random.randint(4, 90), random.randint(1, 7)
    first, line = random.randint(0, 40), random.choice((4, 8, 32))
    size = lines * line - random.randint(0, line - 1)
    data = max(1, -(-(first + lines * pace) // scale))
    shape = TransferShape(
        0, data, size, line, random.choice((1, 4, 8)), random.randint(1, 3), first, pace, scale
    )
    return Pair(
        tuple(random_stream(random) for _ in range(random.randint(1, 3))), shape, random.randint(0, 300)
    )


def random_stream(random: Random) -> Stream:
    return Stream(
        start=random.randint(0, 120),
        stride=random.choice((1, 1, 2, 5, 19)),
        count=random.randint(1, 300),
        width=random.choice((1, 8, 16)),
        address=random.randint(0, 300),
        span=random.randint(16, 900),
    )


def test_every_passage_is_that_of_looking_at_every_cycle() -> None:
    lost = 0
    for seed in range(60):
        random = Random(seed)
        arbitration = random.choice(ARBITRATIONS)
        banks = BankMap(random.choice((4, 16)), random.choice((1, 2, 8)), 1, arbitration, False)
        if seed % 3 == 0:
            banks = BankMap(random.choice((100, 400)), random.choice((4, 8)), 1, arbitration, True)
        meetings = BankConflicts(banks)  # several runs share what it remembers
        for _ in range(20):
            pair = random_pair(random)
            start = Passage(
                0, random.randint(0, 50), random.randint(0, pair.shape.data - 1), arbitration == "dma first"
            )
            ends = Ends(random.randint(1, 2000), random.randint(60, 900), pair.shape.data)
            found = meetings.run(pair, start, ends)
            assert found == plainly(banks, pair, start, ends), seed
            lost += 2 * found.cycles - (found.op - start.op) - (found.data - start.data)
    assert lost > 1000


def test_two_that_never_share_a_bank_pass_at_once() -> None:
    banks = BankMap(1000, 2, 1, "npu first", True)
    pair = Pair((Stream(0, 1, 500, 8, 0, 900),), TransferShape(0, 500, 500, 4, 4, 1, 0, 4, 1), 1000)
    start = Passage(0, 0, 0, False)
    assert BankConflicts(banks).run(pair, start, Ends(400, 500, 500)) == Passage(400, 400, 400, False)


def test_with_two_ports_they_never_wait_for_each_other() -> None:
    pair = Pair((Stream(0, 1, 500, 8, 0, 900),), TransferShape(0, 500, 500, 4, 4, 1, 0, 4, 1), 0)
    start, ends = Passage(0, 0, 0, True), Ends(400, 500, 500)
    assert BankConflicts(BankMap(1000, 2, 2, "dma first", True)).run(pair, start, ends).op == 400
    assert BankConflicts(BankMap(1000, 2, 1, "dma first", True)).run(pair, start, ends).op < 400
