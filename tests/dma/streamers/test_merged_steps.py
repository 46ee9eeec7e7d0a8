"""Merging steps of a straight chain changes no forecast, and loses no better positions."""

from __future__ import annotations

from random import Random

import pytest

from dma.streamers.merged_steps import merge_steps
from dma.streamers.weight_region import StepChain, WeightSlice, forecast_of
from tests.dma.streamers.test_weight_region import all_positions, fits, random_run


@pytest.mark.parametrize("seed", range(200))
def test_the_merged_run_has_the_same_forecast_at_the_same_positions(seed: int) -> None:
    random = Random(seed)
    chain = random_run(random, random.randint(0, 3))
    merged = merge_steps(chain, [])
    steps = [random.randint(0, merged.step(each.first)) for each in chain.slices]
    positions = [merged.starts[step] for step in steps]

    whole, small = forecast_of(chain, positions), forecast_of(merged.chain, steps)

    assert small.end == whole.end
    assert small.ends == whole.ends


@pytest.mark.parametrize("seed", range(60))
def test_no_positions_of_single_steps_are_faster(seed: int) -> None:
    random = Random(seed)
    chain = random_run(random, random.randint(0, 2))
    merged = merge_steps(chain, [])

    assert fastest(merged.chain) == fastest(chain)


def test_steps_at_which_nothing_happens_are_one() -> None:
    chain = StepChain(5, (10,) * 100, (50,) * 60 + (40,) * 40, (WeightSlice(8, 95, 104, 30),), ())

    merged = merge_steps(chain, [])

    assert merged.starts == (5, 65, 95)
    assert merged.chain.computes == (600, 300, 100)
    assert merged.chain.slices == (WeightSlice(8, 2, 2, 30),)


def fastest(chain: StepChain) -> int:
    """The least cycles of all positions that fit."""
    return min(forecast_of(chain, p).end for p in all_positions(chain) if fits(chain, p))
