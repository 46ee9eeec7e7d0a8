"""Prints what is known of predictions for each board: what is promised, and what that rests on.

python -m docs.tools.boards
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.blind import newest
from bench.silicon import held_out_fields
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.measured_networks import APART, NetworkClass, classes


def main() -> None:
    """Print the table."""
    print("\n".join(lines()))


def lines() -> Iterator[str]:
    """A row for each preset whose board was measured."""
    yield "| preset | promised mean error | rows | decided by them | newest blind result |"
    yield "| --- | --- | ---: | ---: | --- |"
    for chip in map(load_chip, preset_names()):
        if chip.measured:
            held_out = f"{len(chip.decided)}, {len(held_out_fields(chip))} held out" if chip.decided else "0"
            cells = (_promise(chip), f"{len(chip.measured)}", held_out, newest(chip) or "none")
            yield f"| `{chip.name}` | {' | '.join(cells)} |"


def _promise(chip: Chip) -> str:
    """The errors that are promised, or why none is."""
    found = [
        each for kind, each in classes(chip.measured, chip.blind, chip.withdrawn).items() if kind != APART
    ]
    kept = [
        f"{each.held_out_error:.0%} {_short(each)}" for each in found if each.is_known and not each.unknown
    ]
    return "; ".join(kept) or f"none: {found[0].doubt or found[0].unknown}"


def _short(each: NetworkClass) -> str:
    return each.kind.replace("tensors ", "").replace("and in", "in")


if __name__ == "__main__":
    main()
