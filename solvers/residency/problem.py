"""The problem of choosing what stays in SharedMemory while steps run one after another, in integers.

An *item* is a tensor that is read, or produced, at some of the steps, its *touches*. At a touch it either
lies whole in SharedMemory, or is streamed (*passes*) through it in stripes, from or to Psram. Between two
touches it is kept, or loaded again from Psram. Weights are items of which any share may be kept.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from chipmodel.records import dataclass


class ResidencyItem(NamedTuple):
    """Bytes that steps use; cycles are those of the DMA engine."""

    name: str
    bytes: int
    touches: tuple[int, ...]
    """Steps, in order."""
    loads: tuple[Fraction, ...]
    """Cycles to load what each touch reads; 0 where it is produced."""
    reads: tuple[int, ...]
    """Bytes that each touch reads."""
    passing: tuple[int, ...]
    """Bytes of SharedMemory that each touch needs for it if it is streamed."""
    made: bool
    """Whether its first touch produces it; otherwise it comes from Psram."""
    store: Fraction = Fraction(0)
    """Cycles to store it in Psram."""
    ends: bool = False
    """Whether it must be in Psram at the end."""
    whole: bool = True
    """Whether it is in SharedMemory as a whole or not at all."""
    moves: bool = True
    """Whether it may be in one memory at one touch and in the other at the next."""
    pinned: bool | None = None
    """In SharedMemory at every touch (True), or never (False)."""
    since: int = 0
    """The first interval that may load it for its first touch."""
    loop: tuple[int, int] | None = None
    """The steps ``[start, stop)`` of a loop around its touches: any share of it may be loaded once before the
    loop and stay for all iterations."""


class InPlaceItems(NamedTuple):
    """At ``step``, which runs in place, the items ``under`` share their bytes with the item ``over``."""

    step: int
    under: tuple[int, ...]
    over: int


class Joined(NamedTuple):
    """A concatenation at ``step`` of the items ``parts``, which die there, into the item ``whole``: they may
    be produced in place, which takes the bytes of ``whole`` from the first of them on and saves ``saved`` NPU
    cycles."""

    step: int
    parts: tuple[int, ...]
    whole: int
    saved: int


class ResidencyStep(NamedTuple):
    """A step of ``cycles`` of the NPU, which runs ``times`` times."""

    cycles: int
    times: int = 1


class PassingOption(NamedTuple):
    """A way to run ``step`` with the items ``passing`` streamed; a step with options runs in one of them, or
    with all of its items in SharedMemory."""

    step: int
    passing: tuple[int, ...]
    bytes: int
    """SharedMemory for what is streamed, including weights."""
    cycles: int
    """NPU cycles in addition to those with all items in SharedMemory."""
    moved: int
    """DMA cycles in addition to those of loading and storing each item once."""


@dataclass(frozen=True, slots=True)
class ResidencyProblem:
    """Steps in order and items by index. ``capacity`` is SharedMemory in bytes.

    Of a step with ``options`` what passes takes the bytes of its option, and not those of
    ``ResidencyItem.passing``.

    Raises ValueError for inconsistent numbers.
    """

    steps: tuple[ResidencyStep, ...]
    items: tuple[ResidencyItem, ...]
    capacity: int
    overlays: tuple[InPlaceItems, ...] = ()
    options: tuple[PassingOption, ...] = ()
    joins: tuple[Joined, ...] = ()

    def __post_init__(self) -> None:
        for item in self.items:
            count = len(item.touches)
            if not count or {len(item.loads), len(item.reads), len(item.passing)} != {count}:
                raise ValueError(f"{item.name}: {count} touches, but not as many loads, or bytes of them")
            if list(item.touches) != sorted(set(item.touches)) or item.touches[0] < 0:
                raise ValueError(f"{item.name}: touches {item.touches} are not steps in order")
            if item.touches[-1] >= len(self.steps):
                raise ValueError(f"{item.name}: there is no step {item.touches[-1]}")
            if item.since > item.touches[0]:
                raise ValueError(
                    f"{item.name}: no load from step {item.since} on is there at {item.touches[0]}"
                )
            if item.loop and not item.loop[0] <= item.touches[0] <= item.touches[-1] < item.loop[1]:
                raise ValueError(f"{item.name}: not all of {item.touches} are in the loop {item.loop}")


@dataclass(frozen=True, slots=True)
class ResidencyFound:
    """``cycles`` of the best answer in the idealised machine.

    ``there[i][j]``: whether item ``i`` is in SharedMemory at its touch ``j``; ``kept[i][j]``: whether it
    stayed there since the previous touch (False at the first). Empty where no answer was found.
    """

    cycles: float | None
    joined: tuple[bool, ...] = ()
    """For each of the problem's ``joins``, whether it is done in place."""
    there: tuple[tuple[bool, ...], ...] = ()
    kept: tuple[tuple[bool, ...], ...] = ()
    staying: tuple[float, ...] = ()
    """For each item, the share that stays for all iterations of its loop."""
