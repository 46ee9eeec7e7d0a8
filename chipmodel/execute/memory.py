"""A memory of bytes, which begins as garbage, and transfers in flight between two of them.

Of all that the hardware may do, a transfer does what harms a wrong plan most. From its start on its target is
garbage. What it moves arrives when it is waited for; a byte of its source or its target that changes in the
meantime arrives as garbage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.places import Numbers

Writers: TypeAlias = NDArray[np.int32]


class OutsideOfMemory(Exception):
    """A command names an address that the memory does not have."""


class Garbage:
    """Pseudo-random bytes that mean nothing: no two takes are alike."""

    def __init__(self, seed: int) -> None:
        self.source = np.random.default_rng(seed)

    def take(self, size: int) -> Bytes:
        """``size`` bytes."""
        return np.frombuffer(self.source.bytes(size), np.uint8).copy()


class ByteMemory:
    """``bytes`` of a memory, with the number of the step that computed each (-1 for none)."""

    def __init__(self, name: str, size: int, garbage: Garbage) -> None:
        self.name = name
        self.bytes = garbage.take(size)
        self.writers: Writers = np.full(size, -1, np.int32)

    def read(self, addresses: Numbers) -> Bytes:
        """The bytes at ``addresses``. Raises OutsideOfMemory."""
        self._check(addresses)
        return self.bytes[addresses]

    def write(self, addresses: Numbers, content: Bytes, writer: int | Writers = -1) -> None:
        """Put ``content``, made by the step ``writer``, at ``addresses``. Raises OutsideOfMemory."""
        self._check(addresses)
        self.bytes[addresses] = content
        self.writers[addresses] = writer

    def _check(self, addresses: Numbers) -> None:
        if len(addresses) and not 0 <= addresses.min() <= addresses.max() < len(self.bytes):
            span = f"[{addresses.min()}, {addresses.max() + 1})"
            raise OutsideOfMemory(f"bytes {span} of {self.name}, which has {len(self.bytes)}")


@dataclass(frozen=True, slots=True)
class MovingBytes:
    """A transfer that has begun and not ended."""

    source: ByteMemory
    target: ByteMemory
    taken: Numbers
    """Addresses of the bytes to move."""
    put: Numbers
    """Addresses of where they go."""
    before: Bytes
    """The bytes to move, as they were at the start."""
    meanwhile: Bytes
    """The garbage in the target."""


def begin(
    source: ByteMemory, taken: Numbers, target: ByteMemory, put: Numbers, garbage: Garbage
) -> MovingBytes:
    """Begin to move the bytes at ``taken`` to ``put``. Raises OutsideOfMemory."""
    flight = MovingBytes(source, target, taken, put, source.read(taken), garbage.take(len(put)))
    target.write(put, flight.meanwhile)
    return flight


def arrive(flight: MovingBytes, garbage: Garbage) -> None:
    """End a transfer."""
    now, there = flight.source.read(flight.taken), flight.target.read(flight.put)
    sound = (now == flight.before) & (there == flight.meanwhile)
    content = np.where(sound, now, garbage.take(len(now)))
    flight.target.write(flight.put, content, flight.source.writers[flight.taken])
