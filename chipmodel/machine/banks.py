"""Banks of SharedMemory: which of them an access uses, and which access is served on a bank conflict.

hardware.md, "NPU cycles": LUNA's SharedMemory is 8 banks of 128 bits, and two accesses to one bank in one
cycle conflict.
"""

from __future__ import annotations

from functools import lru_cache

from chipmodel.hardware.chip import Arbitration, SharedMemory
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class BankMap:
    """Blocks of ``unit`` bytes go to ``count`` banks in turn; with ``blocks`` each bank has one of them."""

    unit: int
    count: int
    ports: int
    arbitration: Arbitration
    blocks: bool

    @property
    def round_bytes(self) -> int:
        """Addresses this far apart are in the same bank."""
        return self.unit * self.count

    def mask(self, address: int, width: int) -> int:
        """The banks of ``[address, address + width)``, one bit for each."""
        first, last = address // self.unit, (address + width - 1) // self.unit
        if last - first + 1 >= self.count:
            return (1 << self.count) - 1
        mask = 0
        for number in range(first, last + 1):
            mask |= 1 << number % self.count
        return mask

    def grants(self, cpu: int, npu: int, dma: int, dma_first: bool) -> tuple[bool, bool]:
        """Whether the NPU and the DMA engine are served in one cycle, given the mask of banks that each unit
        accesses. The CPU is always served first, then the NPU, or the DMA engine if ``dma_first``."""
        if dma_first:
            dma_served = self._free(dma, (cpu,))
            return self._free(npu, (cpu, dma if dma_served else 0)), dma_served
        npu_served = self._free(npu, (cpu,))
        return npu_served, self._free(dma, (cpu, npu if npu_served else 0))

    def _free(self, mask: int, taken: tuple[int, ...]) -> bool:
        """Whether no bank of ``mask`` has all of its ports taken."""
        if len(taken) < self.ports:
            return True
        full = taken[0]
        for other in taken[1:]:
            full = full | other if self.ports == 1 else full & other
        return not mask & full


@lru_cache(maxsize=64)
def bank_map(memory: SharedMemory) -> BankMap | None:
    """The banks of ``memory``; None where the chip does not model them."""
    banks = memory.banks
    if banks is None:
        return None
    blocks = banks.interleave == "blocks"
    unit = -(-memory.bytes // banks.count) if blocks else banks.word_bytes
    return BankMap(unit, banks.count, banks.ports, banks.arbitration, blocks)
