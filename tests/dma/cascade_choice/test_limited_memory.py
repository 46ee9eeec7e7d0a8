"""The cascades for the least memory within a limit on multiply-accumulates, against sets of small chains."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, islice
from random import Random

import pytest

from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.made_again import sole_tensors
from tests.dma.cascade_choice.test_least_memory import needed
from tests.support.cascade_chains import every_set_of_cascades, random_chain

CHAINS = 24
MOST_SETS = 60
CHIP = load_chip("alif-e7", ["weights.in_place=always"])


@pytest.mark.parametrize("limit", [1.0, 1.3, 2.0, 8.0])
@pytest.mark.parametrize(
    "seed", [n if n % 9 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in range(CHAINS)]
)
def test_no_set_within_the_limit_needs_less(seed: int, limit: float) -> None:
    """Bands of a few columns are free where no op reads its neighbours."""
    program = random_chain(Random(seed))
    most = limit * computed(program)
    candidates = [with_cascades(program, each) for each in least_memory_candidates(program, CHIP, limit)]
    assert all(computed(each) <= most for each in candidates)
    found = min(map(needed, (program, *candidates)))
    others = (each for each in _sets(program, Random(seed)) if computed(each) <= most)
    assert found <= min(map(needed, (program, *others)))


def _sets(program: Program, random: Random) -> Iterator[Program]:
    """Sets of cascades in rows, each also with tensors made again, in bands, and both."""
    sets = list(islice(every_set_of_cascades(program), 50 * MOST_SETS))
    for choices in random.sample(sets, min(len(sets), MOST_SETS)):
        for bands in (1, random.randint(2, 16)):
            each = tuple(replace(choice, bands=bands) for choice in choices)
            for made in (each, tuple(_again(program, choice, random) for choice in each)):
                with suppress(ValueError):
                    yield with_cascades(program, made)


def _again(program: Program, choice: CascadeChoice, random: Random) -> CascadeChoice:
    tensors = list(sole_tensors([op for op in program.ops() if op.name in choice.ops]))
    every = [each for n in range(len(tensors) + 1) for each in combinations(tensors, n)]
    return replace(choice, again=random.choice(every))
