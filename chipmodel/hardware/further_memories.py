"""Memories of a chip besides SharedMemory, Psram and that of the weights: a second SRAM, an MRAM.

A chip file names each below ``memories``, with its size, and for loads from it and stores to it a latency and
a rate. Its fields are those of every such memory, whatever its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.records import dataclass

GROUP = "memories"
"""The group of a chip file that holds them, each by its name."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
TAKEN = ("psram", "weights", "shared_memory")
"""Names of other memories of a chip."""


@dataclass(frozen=True, slots=True)
class FurtherMemory:
    """A memory that the DMA engine reads and writes over a port of its own.

    A transfer takes its latency, then its bytes at its rate.
    """

    name: str
    bytes: int
    load_latency: int
    """Core cycles before the first byte of a load from it."""
    load_bytes_per_cycle: Fraction
    """Bytes of a load that pass in a core cycle."""
    store_latency: int
    store_bytes_per_cycle: Fraction


def memory_path(path: str) -> tuple[str, str] | None:
    """Return the name and the key of a dotted path below ``memories``; None for any other."""
    group, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    return (name, key) if group == GROUP and NAME.fullmatch(name) and name not in TAKEN else None


def memory_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the memories that have fields among ``paths``, in their order."""
    return tuple(dict.fromkeys(match[0] for path in paths if (match := memory_path(path))))


def further_memories_of(values: Values) -> tuple[FurtherMemory, ...]:
    """Return the memories of a chip file, in its order."""
    return tuple(
        read_as(FurtherMemory, f"{GROUP}.{name}", values, name=name) for name in memory_names(values)
    )
