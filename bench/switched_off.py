"""Planning steps switched off, one at a time: how many plans become slower, and by how much at most.

python -m bench.switched_off [--steps "first op begins early,..."] [the options of bench.gaps]
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from unittest.mock import Mock, patch

from bench.gaps import cases, parser_of, planned_run
from chipmodel.errors import DoesNotFit

STEPS: Mapping[str, tuple[str, object]] = {
    "first op begins early": ("dma.schedule.quicker_cuts.early_start", None),
    "ops in stripes that compute faster": ("dma.schedule.quicker_cuts.faster_cuts", {}),
    "last late op in slices": ("dma.streamers.race.late_slices", None),
    "larger slices of the last op": ("dma.streamers.race.larger_slices", None),
    "cascades: weights loaded again": ("dma.cascade_choice.segmented_chains.reloading_cascades", ()),
}
"""The function that is a step, and what it answers if the step finds nothing to do."""


def without(step: str) -> AbstractContextManager[object]:
    """A context in which ``step`` finds nothing to do."""
    function, nothing = STEPS[step]
    return patch(function, Mock(return_value=nothing))


def cycles(args: Namespace) -> Iterator[int | None]:
    """The cycles of each plan; None for what does not fit."""
    for *_, program, chip in cases(args):
        try:
            yield planned_run(program, chip, args).trace.cycles
        except DoesNotFit:
            yield None


def table_row(step: str, usual: Sequence[int | None], off: Sequence[int | None]) -> str:
    """How many plans are slower and faster with ``step`` off, by how much at most, and how many are gone."""
    changes = [b / a - 1 for a, b in zip(usual, off, strict=True) if a and b and a != b]
    refused = sum(a is not None and b is None for a, b in zip(usual, off, strict=True))
    slower = [each for each in changes if each > 0]
    most, least = max(slower, default=0.0), abs(min((*changes, 0.0)))
    faster = len(changes) - len(slower)
    cells = (len(usual), len(slower), f"{most:.1%}", faster, f"{least:.1%}", refused)
    return f"| {step} | {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--steps", default=",".join(STEPS))
    args = parser.parse_args()
    print("| step | rows | slower | at most | faster | at most | no longer fit |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    usual = list(cycles(args))
    for step in args.steps.split(","):
        with without(step):
            print(table_row(step, usual, list(cycles(args))), flush=True)


if __name__ == "__main__":
    main()
