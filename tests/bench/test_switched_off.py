"""Steps that are switched off exist, change plans, and are told in a row each."""

import pytest

from bench.switched_off import STEPS, table_row, without
from tests.bench.command import printed


def test_a_row_counts_slower_faster_and_refused_plans() -> None:
    row = table_row("step", [100, 100, 100, 100, None], [110, 95, 100, None, 7])
    assert row == "| step | 5 | 1 | 10.0% | 1 | 5.0% | 1 |"


@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_a_function_that_is_there(step: str) -> None:
    with without(step):
        pass


@pytest.mark.slow
def test_a_step_that_is_off_makes_a_plan_slower() -> None:
    step = "larger slices of the last op"
    case = ("--networks", "autoencoder", "--chips", "stm32n6", "--parts", "1", "--steps", step)
    assert f"| {step} | 1 | 1 | 10.1% | 0 | 0.0% | 0 |" in printed("bench.switched_off", *case)
