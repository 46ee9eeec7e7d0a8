"""Whole networks on boards: what the presets predict by streamer ``vendor``, against published measurements.

For every row of ``chipmodel/measured/tables`` and ``docs/examples/chips``: measured and predicted
milliseconds, their ratio, and the ratio of a prediction by a fit to the other families of networks; then the
errors of all rows and by class.
Such a fit sees the networks whose tensors stay in SharedMemory, each once, and begins at powers of ten.

    python -m bench.silicon [--no-fit] [BOARD ...]
    python -m bench.silicon --write [BOARD ...]     # ``measured`` in the chip files
    python -m bench.silicon --predict FILE.csv      # columns chip, network, shape or variant
    python -m bench.silicon --blind FILE.csv [--record DATE]    # and measured: is what nobody saw inside?
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import log10
from pathlib import Path
from statistics import fmean, median

from bench.blind import lines as blind_lines, recorded, tried
from bench.boards import board_names, chip_path, load_board, table_path
from bench.predicted_rows import predict
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import BLIND, MEASURED, with_overrides
from chipmodel.hardware.fields import FIELDS
from chipmodel.hardware.measured_networks import (
    APART,
    ROWS_PER_NUMBER,
    BlindRow,
    MeasuredNetwork,
    NetworkClass,
    blind_rows,
    classes,
    network_rows,
    summary,
)
from chipmodel.measured.compare import MeasuredTable, read_table
from chipmodel.measured.network_fit import fit, free_numbers
from chipmodel.measured.network_prediction import (
    NETWORKS,
    PlannedNetwork,
    chip_of,
    measured_network,
    milliseconds,
    planned_network,
    workload_of,
)
from chipmodel.measured.track_record import INSIDE


def predicted_networks(table: MeasuredTable, chip: Chip) -> tuple[MeasuredNetwork, ...]:
    """The rows of a table as ``chip`` predicts them, with no fit: ``held_out`` is what is predicted."""
    found: list[MeasuredNetwork] = []
    planned: dict[str, PlannedNetwork] = {}
    for row in table.rows:
        board, asked = chip_of(chip, row), workload_of(row)
        network = planned.get(asked) or planned_network(row.text("workload"), board)
        planned[asked] = network
        time = milliseconds(board, network.cycles)
        found.append(measured_network(row, board, network, time, time))
    return tuple(found)


def _table_of(path: Path, date: str | None, *, blind: bool) -> None:
    """Predict the networks of a table, and compare them with its measured times where they are ``blind``."""
    text = path.read_text(encoding="utf-8-sig")
    if not blind:
        predict(text, str(path), sys.stdout)
        return
    rows = list(tried(text, str(path)))
    print("\n".join(blind_lines(rows)))
    for preset, kept in (recorded(rows, date) if date else {}).items():
        write(preset, BLIND, blind_rows(kept))


Folds = dict[str, Mapping[str, Fraction]]
"""What the fit without each family found."""
LEAST_CHANGE = 0.001
"""The share of its time by which a choice changes a network that has a say in it."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print all tables, or those of the boards named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("boards", nargs="*", help="names of tables, such as stm32n6")
    parser.add_argument("--no-fit", action="store_true", help="do not fit with families held out")
    parser.add_argument("--write", action="store_true", help="write what is found into the chip files")
    parser.add_argument("--predict", type=Path, help="predict the networks of a table, as CSV")
    parser.add_argument("--blind", type=Path, help="predict the networks of a measured table, and compare")
    parser.add_argument("--record", metavar="DATE", help="keep the blind predictions in the chip files")
    asked = parser.parse_args(argv)
    if asked.predict or asked.blind:
        try:
            _table_of(asked.predict or asked.blind, asked.record, blind=asked.blind is not None)
        except (OSError, UnicodeError, BadInput) as error:
            parser.error(str(error))
        return
    for board in asked.boards or board_names():
        found, folds = networks(board, not asked.no_fit)
        if asked.write:
            write(board, MEASURED, network_rows(found))
        blind = load_board(board).blind
        tables = (*lines(board, found, blind), *interval_lines(found, blind), *fold_lines(folds))
        print("\n".join(tables), flush=True)


def networks(board: str, fitted: bool) -> tuple[tuple[MeasuredNetwork, ...], Folds]:
    """The rows of a board, as the preset of that name predicts them, and the fits without a family."""
    read, chip = table(board), load_board(board)
    rows = predicted_networks(read, chip)
    if not fitted:
        return rows, {}
    if chip.vendor.run_cycles:
        return tuple(_started_as_others(rows)), {}
    trained = {number for number, row in enumerate(rows) if row.traits.kind.endswith(INSIDE)}
    free, folds = fitted_numbers(chip), Folds()
    held_out = [row.predicted for row in rows]
    if free and len(trained) >= ROWS_PER_NUMBER * len(free):
        found = fit(read, chip, free, trained, outset(chip, free))
        assert found.held_out is not None, "a fit to networks"
        held_out, folds = [float(held.predicted) for held in found.held_out.rows], dict(found.folds)
    for setting in alternatives(chip, free):
        without = predicted_networks(read, with_overrides(chip, [setting]))
        shares = [other.predicted / row.predicted for row, other in zip(rows, without, strict=True)]
        chosen = {family: chooses(rows, shares, family) for family in {row.family for row in rows}}
        print(setting, *sorted(family for family, yes in chosen.items() if not yes), file=sys.stderr)
        held_out = [
            time if chosen[row.family] else time * share
            for row, time, share in zip(rows, held_out, shares, strict=True)
        ]
    return tuple(replace(row, held_out=time) for row, time in zip(rows, held_out, strict=True)), folds


def alternatives(chip: Chip, free: Sequence[str]) -> list[str]:
    """Settings that each take back a choice that the board's networks decided, as far as there is a default,
    and that may change times: the share of tensors decides only classes."""
    refitted = {path for text in free for path in text.split("+")}
    return [
        f"{path}={default}"
        for path in chip.decided
        if path not in refitted and path != "vendor.tensor_share"
        if (default := FIELDS[path].default) and not chip.has(f"{path}={default}")
    ]


def held_out_fields(chip: Chip) -> set[str]:
    """The fields that the board's networks decided, and that each family is predicted without."""
    free = fitted_numbers(chip)
    settings = (each.partition("=")[0] for each in alternatives(chip, free))
    return {"vendor.run_cycles", *(path for text in free for path in text.split("+")), *settings} & {
        *chip.decided
    }


def chooses(rows: Sequence[MeasuredNetwork], shares: Sequence[float], family: str) -> bool:
    """Whether the other families choose what takes them ``1 / share`` of the time that they take without:
    their errors are smaller with it, each family's as one."""
    errors: dict[str, list[float]] = {}
    for row, share in zip(rows, shares, strict=True):
        if row.family != family and row.traits.kind != APART and abs(share - 1) > LEAST_CHANGE:
            with_it, without = abs(row.error), abs(row.predicted * share / row.measured - 1)
            errors.setdefault(row.family, []).append(without - with_it)
    return sum(map(fmean, errors.values())) > 0


def fitted_numbers(chip: Chip) -> list[str]:
    """The free numbers that the board's networks decided: those of a board scaled from another were not."""
    return [text for text in free_numbers(chip) if chip.figures[text.split("+")[0]].mark == "fitted"]


def _started_as_others(rows: Sequence[MeasuredNetwork]) -> Iterator[MeasuredNetwork]:
    """The rows, held out with the driver's time before a run from the other families: the median of what
    these take longer than predicted if their tensors stay in SharedMemory."""
    for row in rows:
        others = median(
            other.measured - other.predicted
            for other in rows
            if other.family != row.family and other.traits.kind.endswith(INSIDE)
        )
        yield replace(row, held_out=row.predicted + others)


def fold_lines(folds: Folds) -> Iterator[str]:
    """The numbers of each fit, a family a row."""
    if not folds:
        return
    names = list(next(iter(folds.values())))
    yield f"\n| family left out | {' | '.join(f'`{name}`' for name in names)} |"
    yield f"| --- |{' ---: |' * len(names)}"
    for family, numbers in folds.items():
        yield f"| {family} | {' | '.join(f'{float(number):g}' for number in numbers.values())} |"


def outset(chip: Chip, free: Sequence[str]) -> dict[str, Fraction]:
    """Where fits begin that are not to know the whole fit: the powers of ten next to its numbers."""
    values = {text: float(Fraction(chip.figures[text.split("+")[0]].value)) for text in free}
    return {text: Fraction(10) ** round(log10(value)) for text, value in values.items()}


def table(board: str) -> MeasuredTable:
    """The published rows of a board."""
    path = table_path(board)
    return read_table(path.read_text(encoding="utf-8"), path.name, None, {NETWORKS.name: NETWORKS})


def lines(board: str, rows: Sequence[MeasuredNetwork], blind: Sequence[BlindRow] = ()) -> Iterator[str]:
    """The table of one board, the chip of that name."""
    yield f"## {board}\n\n| network | class | measured ms | predicted ms | ratio | held out |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for row in rows:
        held_out = row.held_out / row.measured
        times = f"{row.measured:g} | {row.predicted:.2f} | {1 + row.error:.3f} | {held_out:.3f}"
        yield f"| {row.workload.partition(' ')[0]} | {row.traits.kind} | {times} |"
    yield f"\n{summary(rows, blind)}."


def covered(
    rows: Sequence[MeasuredNetwork], blind: Sequence[BlindRow] = ()
) -> Iterator[tuple[str, float, int]]:
    """Of each class of ``rows`` with two families or more: the share of its families that lie in the interval
    of the others, each network of a family in part, and how many families there are."""
    for kind, each in classes(rows, blind).items():
        if kind == APART or len(each.families) < 2:
            continue
        inside = 0.0
        for row in each.networks:
            others = tuple(other for other in each.networks if other.family != row.family)
            low, high = NetworkClass(kind, others).interval
            inside += (low <= row.measured / row.held_out <= high) / each.families[row.family]
        yield kind, inside / len(each.families), len(each.families)


def interval_lines(rows: Sequence[MeasuredNetwork], blind: Sequence[BlindRow] = ()) -> Iterator[str]:
    """How many families lie in the intervals of the others, a class a line."""
    for kind, share, families in covered(rows, blind):
        yield f"{share:.0%} of {families} families with {kind} lie in the interval of the others."


def write(board: str, key: str, table: str) -> None:
    """Write the rows of a CSV ``table`` into the preset as ``key``, the last of its fields."""
    path = chip_path(board)
    kept = re.sub(rf"\n{key}: \|\n(?:  .*\n)+", "\n", path.read_text(encoding="utf-8")).rstrip("\n")
    block = "".join(f"  {line}\n" for line in table.splitlines())
    path.write_text(f"{kept}\n{key}: |\n{block}", encoding="utf-8")


if __name__ == "__main__":
    main()
