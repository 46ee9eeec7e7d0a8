"""How likely the arms and the numbers of trips of a YAML workload are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from chipmodel.files.suggestions import shown
from workloads.build.loop_tensors import MOST_CHANCES, evenly
from workloads.from_yaml.names import Names, Path
from workloads.from_yaml.schema import TRIPS, Arm, Bounds, If, Loop

Chances = tuple[tuple[int, Fraction], ...]


def probabilities_of(op: If, path: Path, names: Names) -> dict[str, Fraction]:
    """Those that the arms of an ``if`` give. Raises ``BadInput`` where they cannot add up to 1."""
    found = {
        name: _exactly(arm.probability)
        for name, arm in op.arms.items()
        if isinstance(arm, Arm) and arm.probability is not None
    }
    total = sum(found.values(), Fraction(0))
    if total > 1 or (len(found) == len(op.arms) and total != 1):
        what = f"the probabilities of the arms of '{names.ops[path]}' add up to {float(total):g}"
        mend = "let them add up to 1; an arm without one has what the others leave"
        names.refuse((*path, "arms"), what, mend)
    return found


def trips_of(op: Loop, path: Path, names: Names) -> tuple[int, Chances]:
    """The largest number of trips, and the chances of each where there are several. Raises ``BadInput``."""
    name, where = names.ops[path], (*path, "trips")
    match op.trips:
        case int():
            return op.trips, ()
        case Bounds():
            least, most = op.trips.least, op.trips.most
            if least > most:
                what = f"'{name}' makes at least {least} and at most {most} trips"
                names.refuse((*where, "least"), what, "write the smaller number as 'least'")
            if most - least >= MOST_CHANCES:
                what = f"'{name}' has {most - least + 1} different numbers of trips"
                mend = f"at most {MOST_CHANCES}: write a table of fewer, {{1: 0.5, 4: 0.5}}"
                names.refuse(where, what, mend)
            return most, evenly(least, most)
        case _:
            return _table(op.trips, name, where, names)


def _table(table: Mapping[str, float], name: str, where: Path, names: Names) -> tuple[int, Chances]:
    for number in table:
        if not TRIPS.fullmatch(number):
            what = f"{shown(number)} is no number of trips of '{name}'"
            names.refuse((*where, number), what, "write whole numbers: {1: 0.5, 4: 0.5}")
    chances = tuple(sorted((int(number), _exactly(chance)) for number, chance in table.items()))
    total = sum((chance for _, chance in chances), Fraction(0))
    if total != 1:
        what = f"the probabilities of the trips of '{name}' add up to {float(total):g}"
        names.refuse(where, what, "let them add up to 1")
    if len(chances) > MOST_CHANCES:
        what = f"'{name}' has {len(chances)} different numbers of trips"
        names.refuse(where, what, f"at most {MOST_CHANCES}")
    return chances[-1][0], chances if len(chances) > 1 else ()


def _exactly(number: float) -> Fraction:
    """The decimal that was written, not its nearest binary fraction."""
    return Fraction(repr(number))
