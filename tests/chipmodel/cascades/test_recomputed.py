"""Tensors inside a cascade that are made again: in which steps, how many rows are held, and how many MACs."""

from dataclasses import replace

import pytest

from chipmodel.cascades.recomputed import cascade_macs, computed, steps_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op, with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import steps
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from tests.support.chips import LUNA_LIKE
from tests.support.narrowed import of_kind
from workloads.build.builder import ProgramBuilder

ROWS, ROW_BYTES = 4, 2 * 3


def chain(*kernels: int, skips: bool = False) -> Program:
    """Convolutions ``op0``, ``op1``, ... of two channels on four rows of three columns; with ``skips`` what
    the first one makes is added to what the last one does."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 2, ROWS, 3))
    made = [x]
    for number, kernel in enumerate(kernels):
        made.append(builder.conv(f"op{number}", made[-1], 2, kernel, pad=kernel // 2))
    last = builder.elementwise("add", "add", [made[-1], made[1]]) if skips else made[-1]
    builder.output(last)
    return builder.build()


def cascade(program: Program, again: tuple[str, ...], heights: tuple[int, ...] = (), bands: int = 1) -> Op:
    ops = list(program.ops())
    names = tuple(op.name for op in ops)
    choice = CascadeChoice(names, heights or (1,) * len(ops), bands=bands, again=again)
    return cascade_op(program, ops, choice)


def work(op: Op) -> CascadeWork:
    return of_kind(CascadeWork, op.work)


def order(op: Op) -> str:
    """The steps: the number of an op, and its rows."""
    return " ".join(f"{s.op}:{s.rows.start}-{s.rows.stop}" for s in work(op).steps)


def held(op: Op) -> dict[str, int]:
    return {each.tensor: each.bytes // ROW_BYTES for each in work(op).held}


def test_an_op_goes_back_to_the_first_row_that_its_reader_needs() -> None:
    op = cascade(chain(3, 3), ("op0",))
    assert order(op) == "0:0-1 0:1-2 1:0-1 0:0-1 0:1-2 0:2-3 1:1-2 0:1-2 0:2-3 0:3-4 1:2-3 0:2-3 0:3-4 1:3-4"
    assert held(op) == {"op0": 3}
    first, last = op.cascade
    assert cascade_macs(op) == first.work.macs * 10 // 4 + last.work.macs


def test_an_op_computes_no_row_beyond_those_of_its_reader() -> None:
    op = cascade(chain(3, 1), ("op0",), (3, 1))
    assert order(op) == "0:0-1 1:0-1 0:1-2 1:1-2 0:2-3 1:2-3 0:3-4 1:3-4"
    assert cascade_macs(op) == sum(each.work.macs for each in op.cascade)


def test_what_comes_before_is_kept_until_it_is_not_needed_again() -> None:
    kept = cascade(chain(1, 1, 3), ())
    again = cascade(chain(1, 1, 3), ("op1",))
    assert (held(kept), held(again)) == ({"op0": 1, "op1": 3}, {"op0": 2, "op1": 3})


def test_rounds_within_rounds() -> None:
    op = cascade(chain(1, 3, 3), ("op0", "op1"))
    assert order(op).startswith("0:0-1 0:1-2 1:0-1 0:0-1 0:1-2 0:2-3 1:1-2 2:0-1 0:0-1")
    assert held(op) == {"op0": 3, "op1": 3}


def test_tensors_made_again_share_the_memory_that_they_take_in_turn() -> None:
    program = chain(1, 3, 1, 3)
    assert work(cascade(program, ())).workspace == (3 + 1 + 3) * ROW_BYTES
    op = cascade(program, ("op0", "op1", "op2"))
    assert held(op) == {"op0": 3, "op1": 1, "op2": 3}
    # op1 is there with op0, and with op2; rows of op2 stay while op0 and op1 make the next one.
    assert work(op).together == (frozenset(("op0", "op1", "op2")),)
    shared = cascade(program, ("op0", "op1"))
    assert work(shared).workspace == (3 + (3 + 1)) * ROW_BYTES


def test_only_tensors_with_one_reader_can_be_made_again() -> None:
    program = chain(3, 3, skips=True)
    for name in ("op0", "add", "x"):
        with pytest.raises(ValueError, match=f"the rows of '{name}' cannot be made again"):
            cascade(program, (name,))
    ops = list(program.ops())
    rows = CascadeChoice(tuple(op.name for op in ops), (1,) * len(ops), rolls=False, again=("op1",))
    with pytest.raises(ValueError, match="in rolling buffers only"):
        cascade_op(program, ops, rows)


@pytest.mark.parametrize("bands", [1, 3])
def test_the_steps_of_a_plan_compute_what_the_cascade_does(bands: int) -> None:
    program = chain(3, 3, 1)
    names = tuple(op.name for op in program.ops())
    choice = CascadeChoice(names, (1, 1, 1), bands=bands, again=("op0",))
    cascaded = with_cascades(program, [choice])
    planned = plan_in_rounds(PlanRequest(program, LUNA_LIKE, "large-first", "sync"), None, cascaded)
    total = steps_macs(program, steps(planned.schedule.body))
    assert total == computed(cascaded) > computed(program)


@pytest.mark.parametrize("rolls", [True, False])
def test_a_plan_above_the_limit_is_refused_whoever_chose_its_cascades(rolls: bool) -> None:
    program = chain(3, 3, 1)
    choice = CascadeChoice(("op0", "op1", "op2"), (1, 1, 1), rolls, again=("op0",) if rolls else ())
    cascaded = with_cascades(program, [choice])
    done, needed = computed(cascaded), computed(program)
    request = PlanRequest(program, LUNA_LIKE, "large-first", "sync", recompute=done / needed)
    assert plan_in_rounds(request, None, cascaded).solved.peak
    below = replace(request, recompute=(done - 1) / needed)
    for asked in (below, replace(below, spill=False)):
        with pytest.raises(DoesNotFit, match=f"computes {done:,} multiply-accumulates, more than"):
            plan_in_rounds(asked, None, cascaded)
    assert plan_in_rounds(below, None, program).solved.peak
