"""What stays in SharedMemory while steps run one after another: the question, in integers.

An *item* is read, or made, at some of the steps, its *touches*. At a touch it either lies whole in
SharedMemory, or passes through it in stripes, from Psram or to it. Between two touches it is kept, or comes
back from Psram. Weights are items of which any share may lie there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple


class ResidencyItem(NamedTuple):
    """Bytes that steps touch; cycles are those of the DMA engine."""

    name: str
    bytes: int
    touches: tuple[int, ...]
    """Steps, in order."""
    loads: tuple[Fraction, ...]
    """Cycles that bring what each touch reads; 0 where it is made."""
    reads: tuple[int, ...]
    """Bytes of that."""
    passing: tuple[int, ...]
    """Bytes that each touch needs of it in SharedMemory while it passes through."""
    made: bool
    """Whether its first touch makes it; otherwise it comes from Psram."""
    store: Fraction = Fraction(0)
    """Cycles that write it to Psram."""
    ends: bool = False
    """Whether it has to be in Psram at the end."""
    whole: bool = True
    """Whether it lies whole in SharedMemory or not at all."""
    moves: bool = True
    """Whether it may be in one memory at one touch and in the other at the next."""
    pinned: bool | None = None
    """In SharedMemory at every touch (True), or never (False)."""
    absorbed: int | None = None
    """The step from whose end on it may lie inside another item, and takes no bytes of its own."""
    ending: tuple[int, ...] = ()
    """What is left of ``passing`` at the end of each touch; as much where it is empty."""
    since: int = 0
    """The first interval that may load it for its first touch."""
    loop: tuple[int, int] | None = None
    """The steps, from and to, of a loop around its touches: any share of it may be loaded once before, and
    stay there for all iterations."""


class InPlaceItems(NamedTuple):
    """At ``step`` the items ``under`` share their bytes with the item ``over``: in place."""

    step: int
    under: tuple[int, ...]
    over: int


class Joined(NamedTuple):
    """At ``step`` the items ``parts``, which die there, may have been made where they lie in the item
    ``whole``: then all of its bytes are taken from the first of them on, and the NPU has ``saved`` cycles
    less to do."""

    step: int
    parts: tuple[int, ...]
    whole: int
    saved: int


class ResidencyStep(NamedTuple):
    """``cycles`` of the NPU, ``times`` over."""

    cycles: int
    times: int = 1


class PassingOption(NamedTuple):
    """A way to run ``step`` with some of its items ``passing``; a step with options runs in one of them, or
    with all of its items in SharedMemory."""

    step: int
    passing: tuple[int, ...]
    bytes: int
    """For what passes, weights included."""
    cycles: int
    """Of the NPU, more than with all items there."""
    moved: int
    """Cycles of the DMA engine beside those of loading and storing each item once."""
    ending: int | None = None
    """What is left of ``bytes`` at the end; as much where it is None."""
    meanwhile: int | None = None
    """Bytes of what passes, and of weights that this step alone touches, that can move while it computes;
    less than 0 where something that is in ``moved`` has to wait. None: all."""


@dataclass(frozen=True, slots=True)
class ResidencyProblem:
    """Steps in order and items by index. ``capacity`` is SharedMemory in bytes.

    Of a step with ``options`` what passes takes the bytes of its option, and not those of
    ``ResidencyItem.passing``.

    Raises ValueError where touches are not steps in order, or numbers do not belong together.
    """

    steps: tuple[ResidencyStep, ...]
    items: tuple[ResidencyItem, ...]
    capacity: int
    overlays: tuple[InPlaceItems, ...] = ()
    options: tuple[PassingOption, ...] = ()
    joins: tuple[Joined, ...] = ()
    each: Fraction = Fraction(0)
    """The least cycles of the DMA engine a byte."""

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
    """``cycles`` of the best answer with the rest of the machine idealised, and what no answer is below.

    ``there[i][j]``: whether item ``i`` lies in SharedMemory at its touch ``j``; ``kept[i][j]``: whether it
    has stayed there since the touch before (False at the first). Empty where no answer was found.
    """

    bound: float
    cycles: float | None
    joined: tuple[bool, ...] = ()
    """Of each of the problem's ``joins``, whether it is made so."""
    there: tuple[tuple[bool, ...], ...] = ()
    kept: tuple[tuple[bool, ...], ...] = ()
    staying: tuple[float, ...] = ()
    """Of each item, the share that stays for all iterations of its loop."""
    durations: tuple[float, ...] = ()
    """Cycles of each step's interval, and after the last of what is still stored then."""
    nodes: int = 0
