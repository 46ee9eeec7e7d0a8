"""Energy of whole networks on boards: what the presets predict by streamer ``vendor``, against measurements.

For every row of ``chipmodel/measured/tables`` with ``microjoules``: measured and predicted energy, their
ratio, the ratio where the time is the measured one, and that of a prediction by a fit that has not seen the
network (at any supply), with either time. Free are the numbers that the preset marks
as fitted. Energy is linear in them, so a fit is the least squares of relative errors with the measured times,
with no number below zero.

    python -m bench.energy [--write] [BOARD ...]     # ``measured_energy`` in the presets
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from statistics import fmean

import numpy as np

from bench.boards import board_names, load_board
from bench.silicon import table, write
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import MEASURED_ENERGY
from chipmodel.hardware.energy import COUNTED, STATIC
from chipmodel.hardware.measured_networks import MeasuredNetwork, NetworkTraits, network_rows
from chipmodel.measured.network_prediction import (
    MICROJOULES,
    MILLISECONDS,
    chip_of,
    family_of,
    planned_network,
)
from chipmodel.measured.track_record import traits_of

PART_OF = {"energy.static_mw": STATIC, **{f"energy.pj.{key}": name for key, name in COUNTED.items()}}
"""The part of a run's energy that each number of a chip file gives."""


@dataclass(frozen=True, slots=True)
class MeasuredEnergy:
    """A row in microjoules: ``parts`` as predicted with the preset's numbers."""

    workload: str
    family: str
    measured: float
    parts: Mapping[str, float]
    traits: NetworkTraits
    slower: float = 1.0
    """The measured time by the predicted one."""

    @property
    def predicted(self) -> float:
        """With the preset's numbers."""
        return sum(self.parts.values())

    def in_measured_time(self) -> MeasuredEnergy:
        """The same row with the parts that go with time as in the measured time."""
        parts = {name: part * (self.slower if name in TIMED else 1) for name, part in self.parts.items()}
        return replace(self, parts=parts, slower=1.0)


Found = Mapping[str, float]
TIMED = (STATIC, COUNTED["cycle"])
"""What goes with the time of a run."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables of all boards with energy, or of those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("boards", nargs="*", help="names of tables, such as gap9")
    parser.add_argument("--write", action="store_true", help="write what is found into the chip files")
    asked = parser.parse_args(argv)
    for board in asked.boards or board_names():
        if load_board(board).energy:
            if asked.write:
                write(board, MEASURED_ENERGY, network_rows(networks(board)))
            print("\n".join(lines(board)), flush=True)


def networks(board: str) -> list[MeasuredNetwork]:
    """The rows of a board in microjoules, as its preset keeps them."""
    rows, now = measured_energies(board), free_energies(load_board(board))
    folds = folds_of(rows, now)
    return [
        MeasuredNetwork(
            row.workload,
            row.family,
            row.measured,
            row.predicted,
            predicted(row, now, folds[row.family]),
            row.traits,
        )
        for row in rows
    ]


def folds_of(rows: Sequence[MeasuredEnergy], now: Found) -> dict[str, Found]:
    """What the fit without each network finds, in the measured times."""
    timed = [row.in_measured_time() for row in rows]
    return {
        family: fitted([each for each in timed if each.family != family], now)
        for family in dict.fromkeys(row.family for row in rows)
    }


def measured_energies(board: str) -> list[MeasuredEnergy]:
    """The rows of a board that have an energy."""
    found: list[MeasuredEnergy] = []
    for row in table(board).rows:
        if MICROJOULES in row.cells:
            chip = chip_of(load_board(board), row)
            planned = planned_network(row.text("workload"), chip)
            assert planned.energy is not None, board
            measured = float(row.number(MICROJOULES))
            traits = traits_of(planned.program, chip)
            slower = float(row.number(MILLISECONDS)) / chip.milliseconds(planned.cycles)
            workload = f"{row.text('workload')} {row.text('set') if 'set' in row.cells else ''}".strip()
            found.append(
                MeasuredEnergy(workload, family_of(row), measured, planned.energy.parts, traits, slower)
            )
    return found


def free_energies(chip: Chip) -> dict[str, float]:
    """The numbers that were fitted, with their values."""
    return {path: float(chip.figures[path].value) for path in PART_OF if _fitted(chip, path)}


def _fitted(chip: Chip, path: str) -> bool:
    return chip.figures[path].mark == "fitted"


def fitted(rows: Sequence[MeasuredEnergy], now: Found) -> Found:
    """The numbers in place of ``now`` with the least sum of squared relative errors over ``rows``."""
    scaled = np.array([[row.parts.get(PART_OF[path], 0) / row.measured for path in now] for row in rows])
    rest = np.array([(row.measured - _rest(row, now)) / row.measured for row in rows])
    best = np.zeros(len(now))
    for used in chain.from_iterable(combinations(range(len(now)), n + 1) for n in range(len(now))):
        factors = np.zeros(len(now))
        factors[list(used)] = np.linalg.lstsq(scaled[:, used], rest, rcond=None)[0]
        if min(factors) >= 0 and _squares(scaled @ factors - rest) < _squares(scaled @ best - rest):
            best = factors
    return {path: float(value * factor) for (path, value), factor in zip(now.items(), best, strict=True)}


def _squares(errors: np.typing.NDArray[np.float64]) -> float:
    return float(errors @ errors)


def _rest(row: MeasuredEnergy, now: Found) -> float:
    """What the numbers that are not free give."""
    return row.predicted - sum(row.parts.get(PART_OF[path], 0) for path in now)


def predicted(row: MeasuredEnergy, now: Found, found: Found) -> float:
    """Microjoules with ``found`` in place of the preset's numbers ``now``."""
    return _rest(row, now) + sum(row.parts.get(PART_OF[p], 0) * found[p] / now[p] for p in now)


def lines(board: str) -> Iterator[str]:
    """The table of one board, its errors, and the numbers of each fit."""
    rows, now = measured_energies(board), free_energies(load_board(board))
    timed = [row.in_measured_time() for row in rows]
    folds = folds_of(rows, now)
    heads = "measured µJ | predicted µJ | ratio | held out | in its time | held out"
    yield f"## {board}\n\n| network | {heads} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    errors: list[list[float]] = []
    for row, same in zip(rows, timed, strict=True):
        fold = folds[row.family]
        found = (row.predicted, predicted(row, now, fold), same.predicted, predicted(same, now, fold))
        errors.append([each / row.measured for each in found])
        ratios = " | ".join(f"{ratio:.3f}" for ratio in errors[-1])
        yield f"| {row.workload} | {row.measured:g} | {row.predicted:.2f} | {ratios} |"
    means = [fmean(abs(ratio - 1) for ratio in each) for each in zip(*errors, strict=True)]
    held = f"{means[0]:.1%}, {means[1]:.1%} with each network held out"
    yield f"\nMean error over {len(rows)} rows {held}; in the measured time {means[2]:.1%}, {means[3]:.1%}.\n"
    yield f"| network left out | {' | '.join(f'`{path}`' for path in now)} |"
    yield f"| --- |{' ---: |' * len(now)}"
    for family, numbers in {"none": fitted(timed, now), **folds}.items():
        yield f"| {family} | {' | '.join(f'{value:.4g}' for value in numbers.values())} |"


if __name__ == "__main__":
    main()
