"""Which banks an access uses, and which unit is served on a bank conflict."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip import Banks, SharedMemory
from chipmodel.machine.banks import BankMap, bank_map

LUNA = BankMap(unit=16, count=8, ports=1, arbitration="round robin", blocks=False)


@pytest.mark.parametrize(
    ("address", "width", "banks"),
    [
        (0, 16, {0}),
        (15, 1, {0}),
        (15, 2, {0, 1}),
        (112, 16, {7}),
        (120, 16, {7, 0}),
        (128, 8, {0}),
        (3, 128, set(range(8))),
    ],
)
def test_words_go_to_the_banks_in_turn(address: int, width: int, banks: set[int]) -> None:
    assert LUNA.mask(address, width) == sum(1 << bank for bank in banks)


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
