"""External fragmentation at one moment: free bytes that cannot be used together.

``compare`` and the report of cores use the term for the waste of a finished plan at its peak
(``model.live_sets.unused_bytes``): free bytes below the peak when its highest buffer is alive. Here the
memory has a size, and the free block at its top counts as free.
"""

from __future__ import annotations

from collections.abc import Iterable


def external_fragmentation(free_blocks: Iterable[int]) -> int:
    """The bytes of all free blocks of a memory except the largest.

    It is the numerator of the common index ``1 - largest free block / all free bytes``. Source of the term:
    Wilson, Johnstone, Neely and Boles, "Dynamic Storage Allocation: A Survey and Critical Review", IWMM 1995.
    """
    blocks = tuple(free_blocks)
    return sum(blocks) - max(blocks, default=0)
