"""The search ``execution`` on a few seeds, and that it reports plans that compute something else."""

from collections import Counter
from collections.abc import Mapping

import pytest

from chipmodel.execute.check import PathVerdict, PlanRun
from tests.fuzz import execution
from tests.fuzz.execution import check
from tests.fuzz.fuzzer import Fault

BATCHES = 2
BATCH = 12


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_plans_compute_what_their_networks_do(batch: int) -> None:
    seen = sum(map(check, range(batch * BATCH, (batch + 1) * BATCH)), Counter[str]())
    assert seen["planned"] > seen["refused"]
    assert seen["paths"] > seen["planned"]
    assert seen["cascades"]


def test_a_branch_may_depend_on_what_no_iteration_wrote() -> None:
    """A loop that runs once leaves part of what it collects unwritten, and a condition is computed from all:
    what lies there is no fault of the plan."""
    assert check(1207)["planned"]


def test_a_difference_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(run: PlanRun, path: Mapping[str, str], seed: int) -> PathVerdict:
        return PathVerdict(path, 0, 0, 0, 0, ("something else",))

    monkeypatch.setattr(execution, "check_path", wrong)
    with pytest.raises(Fault, match=r"seed 0 .*something else"):
        check(0)
