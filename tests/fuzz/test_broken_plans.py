"""Plans broken in one place: a few dozen, of the search ``broken-plans``."""

import json
from random import Random

import pytest

from chipmodel.plan_file.text import write_plan
from tests.fuzz.broken_plans import check, objection
from tests.fuzz.plan_breaks import breaks
from tests.fuzz.plan_cases import plan_case
from tests.fuzz.plan_objects import objects
from tests.support.narrowed import some


@pytest.mark.slow
@pytest.mark.parametrize("seed", [12, 30])
def test_random_breaks_are_refused(seed: int) -> None:
    seen = check(seed, each=25)
    assert seen["plans"] == 1
    assert seen.total() > 15


def test_every_key_of_every_kind_of_object_is_broken() -> None:
    case = some(plan_case(30))
    document = json.loads(write_plan(case.plan))
    names = [each.name for each in breaks(document, Random(0))]
    keys = {(found.kind, key) for found in objects(document) for key in found.object}
    assert {f"{kind}.{key}: {how}" for kind, key in keys for how in ("changed", "exchanged", "left out")} <= {
        *names
    }
    assert len(names) == len({*names})


def test_the_right_plan_is_accepted() -> None:
    case = some(plan_case(30))
    assert objection(case, json.loads(write_plan(case.plan))) == ""
