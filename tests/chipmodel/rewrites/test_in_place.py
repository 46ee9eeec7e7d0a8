"""In-place reuse by the kind of op: what is marked, what it saves, and that plans stay correct."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import Compute
from chipmodel.model.program import Loop, Op, Program, ops
from chipmodel.model.tree import walk
from chipmodel.model.work import Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import (
    CHOICES,
    PlaceInTensor,
    left_to_move,
    place_within,
    places_in_concat,
    reuse,
)
from chipmodel.verify.commands import verify
from tests.support.narrowed import of_kind, some
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

CHIP = load_chip("luna-csk6", ())


def op_named(program: Program, name: str) -> Op:
    return next(op for op in ops(program.body) if op.name == name)


def inception(extra_reader: bool = False) -> Program:
    """Two convolutions of one input, concatenated and read by a third."""
    net = ProgramBuilder("inception")
    x = net.input("x", (1, 4, 8, 8))
    a = net.conv("a", x, 4, 3, pad=1)
    b = net.conv("b", x, 12, 1)
    both = net.vector("concat", "both", [a, b], (1, 16, 8, 8), rows=8)
    net.output(net.conv("last", both, 4, 1))
    if extra_reader:
        net.output(net.elementwise("relu", "again", [a]))
    return net.build()


def test_an_elementwise_op_takes_an_operand_that_dies() -> None:
    program = reuse(small_network("in_place chain"), "elementwise")
    assert op_named(program, "sum").overwrites == "b"  # a is read once more
    assert op_named(program, "r").overwrites == "sum"
    assert op_named(program, "later").overwrites == "a"


def test_tensors_that_are_needed_later_are_not_overwritten() -> None:
    program = reuse(small_network("kept"), "all")
    assert op_named(program, "of_output").overwrites is None
    assert op_named(program, "by_small").overwrites == "wide"  # scale is broadcast
    assert op_named(program, "no_kind").overwrites is None


def test_nothing_from_outside_of_a_loop_is_overwritten_in_it() -> None:
    net = ProgramBuilder("loop")
    x = net.input("x", (1, 4, 8, 8))
    outside = net.conv("outside", x, 4, 3, pad=1)
    state = net.elementwise("copy", "first", [outside], outputs=["state"])
    with net.block() as body:
        inside = net.elementwise("relu", "inside", [outside])
        from_input = net.elementwise("relu", "of_input", [x])
        both = net.elementwise("add", "both", [inside, from_input])
        net.elementwise("add", "next", [both, state], outputs=["state"])
    net.add_loop("iterations", 3, body, ["state"])
    net.output(state)
    program = reuse(net.build(), "all")
    assert any(isinstance(node, Loop) for node in program.body)
    assert op_named(program, "inside").overwrites is None
    assert op_named(program, "of_input").overwrites is None
    assert op_named(program, "both").overwrites == "inside"
    assert op_named(program, "next").overwrites is None  # what it writes is carried


def test_an_input_of_the_program_that_only_a_loop_reads_is_kept_for_its_next_iteration() -> None:
    """Nobody else reads or writes ``x``, and no other region does: but the second iteration reads it."""
    for choice in CHOICES:
        program = reuse(small_network("in_place again"), choice)
        assert op_named(program, "r").overwrites is None
        planned = plan(PlanRequest(program, CHIP))
        assert verify(program, planned.commands, CHIP) == ()
    # Outside of a loop it may: whoever runs the program gives its inputs each time.
    assert op_named(reuse(small_network("once"), "all"), "r").overwrites == "x"


def test_a_concat_of_inputs_in_place_costs_nothing_and_holds_them_once() -> None:
    program = inception()
    x, a, b, whole = 256, 256, 768, 1024
    apart = plan(PlanRequest(reuse(program, "none"), CHIP, "exact", "sync"))
    together = plan(PlanRequest(reuse(program, "concat"), CHIP, "exact", "sync"))
    assert apart.solved.peak >= a + b + whole
    assert x + whole <= together.solved.peak < a + b + whole
    assert "a" not in together.schedule.buffers
    assert together.schedule.buffers["both"].bytes == whole
    steps = {c.op: c for c in walk(together.commands) if isinstance(c, Compute)}
    assert steps["both"].cycles == 0
    first, second = (steps[name].writes[0] for name in "ab")
    rows = 8  # of each row of the output a has the first channels and b the others
    assert second.offset == first.offset + a // rows
    assert {(w.runs, w.pitch) for w in (first, second)} == {(rows, whole // rows)}
    assert verify(reuse(program, "concat"), together.commands, CHIP) == ()


def test_a_concat_input_that_is_read_later_is_copied() -> None:
    program = reuse(inception(extra_reader=True), "concat")
    concat = op_named(program, "both")
    assert concat.absorbs == ("b",)
    planned = plan(PlanRequest(program, CHIP, "exact", "sync"))
    assert verify(program, planned.commands, CHIP) == ()
    left = some(left_to_move(program, concat, frozenset({"b"})))
    step = next(c for c in walk(planned.commands) if isinstance(c, Compute) and c.op == "both")
    assert step.cycles == op_cycles(CHIP.npu, left, left.work.rows, 1) < op_cycles(CHIP.npu, concat, 8, 1)


def test_concats_of_concats_lie_in_the_last_one() -> None:
    """The shape of a dense block: every layer's output joins all that came before."""
    program = reuse(small_network("joins"), "concat")
    planned = plan(PlanRequest(program, CHIP, "exact", "sync"))
    assert verify(program, planned.commands, CHIP) == ()
    steps = {c.op: c for c in walk(planned.commands) if isinstance(c, Compute)}
    assert all(steps[f"cat{layer}"].cycles == 0 for layer in range(4))
    base = steps["stem"].writes[0].offset
    assert [steps[f"conv{layer}"].writes[0].offset - base for layer in range(4)] == [32, 64, 96, 128]


def test_places_in_a_concat_are_as_runs_in_rows_and_only_of_inputs_used_once() -> None:
    program = small_network("places")
    assert places_in_concat(program, op_named(program, "c")) == {"b": PlaceInTensor(32, runs=8, pitch=80)}
    assert places_in_concat(program, op_named(program, "a")) == {}


def test_what_is_left_of_a_concat_is_its_share_of_the_bytes() -> None:
    """``a`` is 256 of 1024 bytes, ``b`` 768: with ``b`` in place a quarter is left to read and to write."""
    program = inception()
    concat = op_named(program, "both")
    left = some(left_to_move(program, concat, frozenset({"b"})))
    assert left.work == replace(of_kind(Vector, concat.work), elements=256, in_bytes=256, out_bytes=256)
    assert left_to_move(program, concat, frozenset({"a", "b"})) is None
    assert left_to_move(program, concat, frozenset()) is concat
    timed = replace(concat, cycles=100)
    assert left_to_move(program, timed, frozenset({"a", "b"})) is timed


def test_inputs_of_the_program_are_not_made_in_a_concat() -> None:
    """They are where the caller put them: the concat has to move them."""
    assert op_named(reuse(small_network("given"), "all"), "c").absorbs == ()


def addresses(place: PlaceInTensor, size: int) -> list[int]:
    """The bytes of a tensor, one by one, where ``place`` puts them."""
    run = size // place.runs
    return [place.offset + byte // run * place.pitch + byte % run for byte in range(size)]


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 4), st.integers(1, 6), st.data())
def test_a_place_within_a_place_is_where_its_bytes_are(
    inner_runs: int, inner_run: int, outer_runs: int, more: int, data: st.DataObject
) -> None:
    size = inner_runs * inner_run
    pitch = inner_run + data.draw(st.integers(0, 4)) if inner_runs > 1 else 0
    offset = data.draw(st.integers(0, 8))
    inner = PlaceInTensor(offset, inner_runs, pitch)
    of = -(-(max(addresses(inner, size)) + more) // outer_runs) * outer_runs
    outer_pitch = of // outer_runs + data.draw(st.integers(0, 4)) if outer_runs > 1 else 0
    outer = PlaceInTensor(data.draw(st.integers(0, 8)), outer_runs, outer_pitch)
    found = place_within(inner, size, outer, of)
    expected = [addresses(outer, of)[byte] for byte in addresses(inner, size)]
    assert found is None or addresses(found, size) == expected


def test_places_compose_along_the_same_rows_and_of_whole_rows() -> None:
    """Rows of 12 bytes in rows of 20, from byte 8 of them on: the third and fourth byte of each row of 12,
    then the second row alone; a part of a row and the start of the next one have no single pitch."""
    outer = PlaceInTensor(8, runs=4, pitch=20)
    assert place_within(PlaceInTensor(2, 4, 12), 8, outer, 48) == PlaceInTensor(10, 4, 20)
    assert place_within(PlaceInTensor(12), 24, outer, 48) == PlaceInTensor(28, 2, 20)
    assert place_within(PlaceInTensor(14), 3, outer, 48) == PlaceInTensor(30)
    assert place_within(PlaceInTensor(10), 12, outer, 48) is None
    assert place_within(PlaceInTensor(2, 2, 24), 8, outer, 48) is None


@pytest.mark.parametrize(
    ("axis", "place"),
    [(1, PlaceInTensor(3 * 2, runs=4, pitch=6 * 2)), (2, PlaceInTensor(24)), (3, PlaceInTensor(2, 12, 4))],
)
def test_the_runs_of_a_concat_are_those_of_its_axis(axis: int, place: PlaceInTensor) -> None:
    """Two images of 3 channels, 4 rows and 2 columns: channels are joined in each row, rows one after
    another, and columns in each channel of each row."""
    net = ProgramBuilder("axes")
    x = net.input("x", (1, 3, 4, 2))
    a, b = net.elementwise("relu", "a", [x]), net.elementwise("abs", "b", [x])
    shape = [1, 3, 4, 2]
    shape[axis] *= 2
    net.output(net.vector("concat", "c", [a, b], tuple(shape), rows=1))
    program = net.build()
    assert places_in_concat(program, op_named(program, "c"))["b"] == place
