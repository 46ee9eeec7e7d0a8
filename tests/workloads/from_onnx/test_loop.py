"""Loop and Scan nodes become loops of the program."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Loop, Op, ops
from tests.workloads.from_onnx.support_models import ints, load, model, node, numpy_helper
from tests.workloads.from_onnx.support_subgraphs import (
    GO_ON,
    NO,
    body,
    info,
    inside,
    looped,
    only,
    scanned,
)
from workloads.from_onnx.loop_iterations import ASSUMED_ITERATIONS


def test_a_loop_carries_and_stacks(tmp_path: Path) -> None:
    inner = body([GO_ON, node("Add", "h a", "n"), node("Mul", "n n", "p")], "still n p", "h")
    made = model(
        [node("Abs", "x", "a"), node("Exp", "x", "h0"), looped("m _ h0", "last piled", inner)],
        {"x": [4]},
        "last piled",
        {"m": numpy.array(5)},
    )
    program = load(tmp_path, made, strict=True)
    around = only(program, Loop)
    assert (around.iterations, around.chances, around.carried) == (5, (), ("last", "piled"))
    assert inside(around.body) == [
        ("add", ("last", "a"), ("n",)),
        ("mul", ("n", "n"), ("p",)),
        ("collect", ("p", "piled"), ("piled",)),
        ("copy", ("n",), ("last",)),
    ]
    assert program.tensors["piled"].shape == (5, 4)
    assert [op.kind for op in program.body if isinstance(op, Op)] == ["abs", "exp", "copy", "allocate"]
    assert not program.notes


def test_a_condition_that_ends_at_once_makes_one_iteration(tmp_path: Path) -> None:
    inner = body([node("Identity", "never", "still"), node("Add", "h x", "n")], "still n", "h")
    made = model([looped("_ _ x", "y", inner)], {"x": [4]}, "y", {"never": NO})
    assert only(load(tmp_path, made, strict=True), Loop).iterations == 1


def _ends_by_data(limit: str = "m") -> Any:
    nodes = [
        node("ReduceSum", "h", "all", keepdims=0),
        node("Less", "all limit", "still"),
        node("Add", "h x", "n"),
    ]
    inner = body(nodes, "still n", "h")
    constants = {"m": numpy.array(4), "limit": numpy.array(99, numpy.float32)}
    return model([looped(f"{limit} _ x", "y", inner)], {"x": [4]}, "y", constants)


def test_iterations_that_depend_on_data_are_equally_likely_with_a_note(tmp_path: Path) -> None:
    program = load(tmp_path, _ends_by_data())
    around = only(program, Loop)
    assert (around.iterations, around.chances) == (
        4,
        tuple((iterations, Fraction(1, 4)) for iterations in (1, 2, 3, 4)),
    )
    assert "node 'around' (Loop): its number of iterations depends on data" in program.notes[0]
    assert "--iterations around=" in program.notes[0]
    known = only(load(tmp_path, _ends_by_data(), iterations={"around": 3}), Loop)
    assert (known.iterations, known.chances) == (3, ())
    with pytest.raises(BadInput, match="at most 4 iterations, not 5"):
        load(tmp_path, _ends_by_data(), iterations={"around": 5})


def _counts(condition: Sequence[Any], first: int = 0, step: int = 1, limit: str = "_") -> Any:
    """A loop that carries ``k``, ``step`` larger each time, and goes on while ``condition`` holds."""
    nodes = [node("Add", "k step", "k2"), *condition, node("Add", "h x", "n")]
    inner = body(nodes, "still n k2", "h")
    inner.input.extend(info("k", 7, []))
    names = {"first": first, "step": step, "end": 10, "m": 4, "big": (1 << 63) - 1}
    constants = {name: numpy.array(value) for name, value in names.items()}
    floats = {"float_end": 10, "between": 9.5, "far": 1e8}
    constants |= {name: numpy.array(value, numpy.float32) for name, value in floats.items()}
    return model([looped(f"{limit} _ x first", "y last", inner)], {"x": [4]}, "y", constants)


FLOAT_COUNTER = node("Cast", "k2", "f", to=1)

COUNTED: dict[str, tuple[Any, int]] = {
    "less": (_counts([node("Less", "k2 end", "still")]), 10),
    "before it is added": (_counts([node("Less", "k end", "still")]), 11),
    "in steps": (_counts([node("Less", "k2 end", "still")], 1, 4), 3),
    "at most": (_counts([node("LessOrEqual", "k2 end", "still")]), 11),
    "downwards": (_counts([node("Greater", "k2 end", "still")], 20, -3), 4),
    "once, past the limit": (_counts([node("Less", "k2 end", "still")], 20), 1),
    "the limit on the left": (_counts([node("GreaterOrEqual", "end i", "still")], limit="big"), 12),
    "and the limit of the loop": (_counts([node("Less", "k2 end", "still")], limit="m"), 4),
    "in floats": (_counts([FLOAT_COUNTER, node("Less", "f float_end", "still")]), 10),
    "in floats, at most": (_counts([FLOAT_COUNTER, node("LessOrEqual", "f float_end", "still")]), 11),
    "to a number between": (_counts([FLOAT_COUNTER, node("LessOrEqual", "f between", "still")]), 10),
    "of two, the earlier": (
        _counts([node("Less", "k2 end", "a"), node("Less", "i step", "b"), node("And", "a b", "still")]),
        2,
    ),
}


@pytest.mark.parametrize("case", COUNTED.values(), ids=COUNTED)
def test_a_loop_that_counts_to_a_constant(case: tuple[Any, int], tmp_path: Path) -> None:
    program = load(tmp_path, case[0])
    assert (only(program, Loop).iterations, program.notes) == (case[1], ())


def test_a_loop_that_counts_or_ends_by_data_makes_at_most_so_many_iterations(tmp_path: Path) -> None:
    data = [node("ReduceSum", "h", "all", keepdims=0), node("Cast", "all", "whole", to=7)]
    both = [node("Less", "whole end", "a"), node("Less", "k2 end", "b"), node("And", "a b", "still")]
    around = only(load(tmp_path, _counts([*data, *both])), Loop)
    assert [count for count, _ in around.chances] == list(range(1, 11))


def test_a_float_that_cannot_hold_its_numbers_is_no_counter(tmp_path: Path) -> None:
    """Above 2^24 a float skips whole numbers."""
    far = _counts([FLOAT_COUNTER, node("Less", "f far", "still")], limit="m")
    assert only(load(tmp_path, far), Loop).chances == tuple((n, Fraction(1, 4)) for n in (1, 2, 3, 4))


def test_a_counter_that_goes_the_other_way_is_no_limit(tmp_path: Path) -> None:
    program = load(tmp_path, _counts([node("Less", "k2 end", "still")], 0, -1))
    assert only(program, Loop).iterations == ASSUMED_ITERATIONS


def test_without_a_limit_iterations_are_assumed(tmp_path: Path) -> None:
    program = load(tmp_path, _ends_by_data("_"))
    assert only(program, Loop).iterations == ASSUMED_ITERATIONS
    assert (
        f"{ASSUMED_ITERATIONS} are assumed (--iterations around={ASSUMED_ITERATIONS} sets it)"
        in program.notes[0]
    )
    with pytest.raises(BadInput, match=r"--iterations names 'abound', which is not a loop(?s:.)*'around'"):
        load(tmp_path, _ends_by_data("_"), iterations={"abound": 5})


def test_the_largest_integer_is_no_limit(tmp_path: Path) -> None:
    inner = body([GO_ON, node("Add", "h x", "n")], "still n", "h")
    made = model([looped("m _ x", "y", inner)], {"x": [4]}, "y", {"m": numpy.array((1 << 63) - 1)})
    assert only(load(tmp_path, made), Loop).iterations == ASSUMED_ITERATIONS


def test_shapes_that_depend_on_the_iteration_are_those_of_the_last(tmp_path: Path) -> None:
    nodes = [
        GO_ON,
        node("Add", "i one", "end"),
        node("Unsqueeze", "end zero", "stop"),
        node("Slice", "x zero stop", "part"),
        node("ReduceSum", "part", "p"),
    ]
    made = model(
        [looped("m _", "piled", body(nodes, "still p"))],
        {"x": [6]},
        "piled",
        {"m": numpy.array(4), "one": numpy.array(1), "zero": ints(0)},
    )
    program = load(tmp_path, made)
    assert program.tensors["part"].shape == (4,)
    assert "'part' depends on the iteration" in program.notes[0]
    assert [op.kind for op in ops(only(program, Loop).body)][-1] == "collect"


def test_a_constant_that_is_scanned_comes_slice_by_slice(tmp_path: Path) -> None:
    made = scanned("y", "n", [node("Add", "h s", "n")])
    made.graph.node[0].input[1] = "table"
    made.graph.initializer.append(numpy_helper.from_array(numpy.ones((6, 4), numpy.float32), "table"))
    program = load(tmp_path, made)
    brought = next(ops(only(program, Loop).body))
    assert (brought.weights, brought.gathers, program.block_bytes(brought)) == (("table",), True, 4)
