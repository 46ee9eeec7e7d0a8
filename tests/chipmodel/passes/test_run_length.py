"""Runs that are too long to simulate: refused before any planning, at the loop that makes them so."""

from dataclasses import replace

import pytest

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import Loop, Program, rewritten
from chipmodel.passes.run_length import MAX_OP_RUNS, refuse_long_run
from chipmodel.pipeline import run as pipeline
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.steady_state import steady
from tests.support.chips import LUNA_LIKE
from tests.support.narrowed import some
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build

PLACE = Place("loops.yaml", 7, 5)


def nested(outer: int, inner: int) -> Program:
    """Three ops in a loop within a loop, with one op before them: 1 + outer * inner * 3 runs."""
    builder = ProgramBuilder("nested")
    state = builder.elementwise("copy", "start", [builder.input("x", (1, 2, 4, 4))], outputs=["state"])
    with builder.block() as body:
        with builder.block() as within:
            y = builder.elementwise("relu", "a", [state])
            y = builder.elementwise("relu", "b", [y])
            builder.elementwise("copy", "again", [y], outputs=["state"])
        builder.add_loop("inner", inner, within, ["state"])
    builder.add_loop("outer", outer, body, ["state"])
    builder.output(state)
    program = builder.build()
    placed = rewritten(program.body, lambda n: replace(n, place=PLACE) if isinstance(n, Loop) else n)
    return replace(program, body=placed)


def test_nests_multiply_and_the_limit_itself_is_allowed() -> None:
    most = (MAX_OP_RUNS - 1) // 3
    refuse_long_run(nested(1, most), {})
    with pytest.raises(BadInput) as refused:
        refuse_long_run(nested(300, 400), {})
    assert "360,001 runs of ops; 250,000 can be simulated: loop 'inner' makes 400" in refused.value.what
    assert refused.value.where == PLACE
    assert "--path inner=100" in some(refused.value.hint)


def test_a_path_decides_how_long_a_run_is() -> None:
    program = nested(300, 400)
    refuse_long_run(program, {"outer": "200"})
    with pytest.raises(BadInput) as refused:
        refuse_long_run(program, {"outer": "1000000"})
    assert "loop 'outer' makes 1,000,000" in refused.value.what
    assert refused.value.where is None, "the number is not the file's"


def test_nothing_is_planned_for_a_run_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(*_: object) -> None:
        raise AssertionError("a plan was begun")

    monkeypatch.setattr(pipeline, "plan", planned)
    with pytest.raises(BadInput, match="--steady-state 20"):
        pipeline.run(PlanRequest(steady(build("ds_cnn"), 100_000), LUNA_LIKE))
