"""Arrays of bytes: shares of them, pseudo-random contents, and digests.

Everything is defined by integer arithmetic modulo 2^64, so the same bytes come out on every machine.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import Share

Bytes: TypeAlias = NDArray[np.uint8]
"""A one-dimensional array of bytes."""
Words: TypeAlias = NDArray[np.uint64]
"""An array of integers modulo 2^64."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64 (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195): 2^64 / golden ratio."""
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def mixed(words: Words) -> Words:
    """Each word through the output function of SplitMix64: a bijection whose every bit depends on all."""
    z = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    z = (z ^ (z >> _SHIFTS[1])) * _FACTORS[1]
    return z ^ (z >> _SHIFTS[2])


def key_of(text: str) -> np.uint64:
    """A number that stands for ``text``."""
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))


def stream(key: np.uint64, count: int, first: int = 0) -> Words:
    """The words number ``first`` and following of the pseudo-random sequence that belongs to ``key``."""
    return mixed(np.arange(first + 1, first + count + 1, dtype=np.uint64) * _STEP + key)


def random_bytes(name: str, size: int, seed: int = 0) -> Bytes:
    """``size`` pseudo-random bytes that depend on ``name`` and ``seed`` only."""
    words = stream(key_of(f"{seed}/{name}"), -(-size // 8))
    return words.astype("<u8").view(np.uint8)[:size].copy()


def digests(lines: NDArray[np.uint8]) -> Words:
    """One word for each line, the last axis of ``lines``; a change of any one byte changes it."""
    weights = stream(key_of("digest"), lines.shape[-1]) | np.uint64(1)
    return mixed((lines.astype(np.uint64) + np.uint64(1)) @ weights)


def taken(array: Bytes, share: Share) -> Bytes:
    """The bytes of ``share`` of ``array``, which holds a whole tensor or weight block."""
    pieces = [array[span.start : span.stop] for span in spans(share, len(array))]
    return pieces[0].copy() if len(pieces) == 1 else np.concatenate([*pieces, np.zeros(0, np.uint8)])


def put(array: Bytes, share: Share, content: Bytes) -> None:
    """Overwrite ``share`` of ``array`` by ``content``, which is as long."""
    first = 0
    for span in spans(share, len(array)):
        array[span.start : span.stop] = content[first : first + len(span)]
        first += len(span)
