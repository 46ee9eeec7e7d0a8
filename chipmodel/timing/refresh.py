"""Array refresh of a Psram: which bursts collide with one and wait longer for their data.

A device with fixed latency hides its refreshes; one with variable latency signals them to the controller,
which then waits ``collided_multiple`` times the latency code (hardware.md, "HyperRAM": RWDS high during
command-address doubles the latency).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import lcm

from chipmodel.errors import BadInput
from chipmodel.hardware.psram_device import Collision, Device, ce_low_clocks, latency_clocks
from chipmodel.timing.split import BurstGroup

__all__ = ["Collision", "PreviousBurst", "collides", "hidden", "hit_share", "phased", "refresh_clocks"]


@dataclass(frozen=True, slots=True)
class PreviousBurst:
    """The clocks at which CE# went low and high for the burst before. By default there was none."""

    low: int = -1
    high: int = 0


def hidden(device: Device, write: bool) -> bool:
    """Whether a refresh never lengthens an access."""
    return latency_clocks(device, write, True) == latency_clocks(device, write)


def refresh_clocks(device: Device) -> tuple[Fraction, Fraction]:
    """Interval and duration of a refresh in clocks of the device. Raises BadInput where it has no figures."""
    if device.refresh is None:
        raise BadInput(
            f"{device.name} has no refresh figures", hint="give it a refresh interval, or collision 'worst'"
        )
    per_us = device.clock_mhz
    return device.refresh.interval_us * per_us, device.refresh.busy_ns * per_us / 1000


def collides(device: Device, write: bool, collision: Collision, before: PreviousBurst, start: int) -> bool:
    """Whether the burst that starts at clock ``start`` collides with a refresh, by ``phase`` or in the
    ``worst`` case. A refresh that becomes due while CE# is low runs once CE# is high."""
    if collision in ("none", "expected") or hidden(device, write):
        return False
    if collision == "worst":
        return True
    return _ticks(device).hit(before, start)


def hit_share(device: Device, collision: Collision) -> Fraction:
    """The share of bursts that collide with a refresh: ``expected``, ``none``, or all (``worst``)."""
    if collision == "expected":
        interval, busy = refresh_clocks(device)
        return min(Fraction(1), busy / interval)
    return Fraction(collision == "worst")


@dataclass(frozen=True, slots=True)
class _RefreshTicks:
    """Interval and duration of a refresh in ticks, ``scale`` a clock; all repeats after ``period`` clocks."""

    interval: int
    busy: int
    scale: int
    period: int

    def hit(self, before: PreviousBurst, start: int) -> bool:
        """Whether a burst that starts at clock ``start`` collides with a refresh."""
        tick = start * self.scale
        due = tick // self.interval * self.interval
        return due > before.low * self.scale and tick < max(due, before.high * self.scale) + self.busy


def _ticks(device: Device) -> _RefreshTicks:
    interval, busy = refresh_clocks(device)
    scale = lcm(interval.denominator, busy.denominator)
    return _RefreshTicks(int(interval * scale), int(busy * scale), scale, interval.numerator)


@dataclass(frozen=True, slots=True)
class _BurstState:
    clock: int
    before: PreviousBurst
    hits: int

    def later(self, first: _BurstState, rounds: int) -> _BurstState:
        """This state after ``rounds`` more repetitions of what happened since ``first``."""
        shift = (self.clock - first.clock) * rounds
        before = PreviousBurst(self.before.low + shift, self.before.high + shift)
        return _BurstState(self.clock + shift, before, self.hits + (self.hits - first.hits) * rounds)


BurstStep = Callable[[_BurstState], _BurstState]


def phased(device: Device, groups: tuple[BurstGroup, ...], write: bool, start: int) -> int:
    """Bursts of ``groups`` that collide with a refresh, the first starting at clock ``start``.

    The phase between bursts and refreshes repeats after at most as many bursts as the interval has phases;
    from there on whole repetitions are counted at once, so that the time does not grow with the bytes.
    """
    ticks = _ticks(device)
    state = _BurstState(start, PreviousBurst(), 0)
    for group in groups:
        steps = [(run.count, _step(device, ticks, run.bytes, write)) for run in group.runs]
        state = _repeat(ticks, group.repeat, partial(_round, ticks, steps), state)
    return state.hits


def _round(ticks: _RefreshTicks, steps: list[tuple[int, BurstStep]], state: _BurstState) -> _BurstState:
    for count, step in steps:
        state = _repeat(ticks, count, step, state)
    return state


def _repeat(ticks: _RefreshTicks, left: int, step: BurstStep, state: _BurstState) -> _BurstState:
    """The state after ``left`` times ``step``; skips whole repetitions once a phase occurs again."""
    seen: dict[tuple[int, int, int], tuple[int, _BurstState]] = {}
    while left:
        phase = state.clock % ticks.period, state.clock - state.before.low, state.clock - state.before.high
        if phase in seen:
            left_then, first = seen[phase]
            rounds, left = divmod(left, left_then - left)
            state = state.later(first, rounds)
            seen.clear()
            continue
        seen[phase] = left, state
        state = step(state)
        left -= 1
    return state


def _step(device: Device, ticks: _RefreshTicks, moved: int, write: bool) -> BurstStep:
    """The step of one burst of ``moved`` bytes."""
    lows = [ce_low_clocks(device, 0, moved, write, hit) for hit in (False, True)]

    def step(state: _BurstState) -> _BurstState:
        hit = ticks.hit(state.before, state.clock)
        high = state.clock + lows[hit]
        return _BurstState(high + device.ce_high_min, PreviousBurst(state.clock, high), state.hits + hit)

    return step
