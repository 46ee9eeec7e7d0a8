"""If nodes become ifs of the program."""

import re
from pathlib import Path
from typing import Any

import numpy
import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import If, ops
from tests.workloads.from_onnx.support_models import (
    helper,
    ints,
    kinds,
    load,
    model,
    node,
    numpy_helper,
    zeros,
)
from tests.workloads.from_onnx.support_subgraphs import SCALAR, YES, branch, graph, inside, only


def test_a_condition_that_is_known_leaves_one_arm_at_any_depth(tmp_path: Path) -> None:
    inner = branch(
        "yes", "u", graph([node("Exp", "x", "e")], "e"), graph([node("Log", "x", "l")], "l"), "inner"
    )
    then = graph([inner, node("Neg", "u", "t")], "t")
    made = model(
        [branch("c", "y", then, graph([node("Abs", "x", "o")], "o"))],
        {"x": [4], "c": []},
        "y",
        {"yes": YES},
        types=SCALAR,
    )
    program = load(tmp_path, made, strict=True)
    assert [inside(arm.body) for arm in only(program, If).arms] == [
        [("exp", ("x",), ("e",)), ("neg", ("e",), ("y",))],
        [("abs", ("x",), ("y",))],
    ]


def test_branches_of_two_shapes_take_the_larger(tmp_path: Path) -> None:
    larger = graph([node("Concat", "x x", "t", axis=0)], "t")
    made = model(
        [branch("c", "y", larger, graph([node("Exp", "x", "o")], "o")), node("Abs", "y", "z")],
        {"x": [4], "c": []},
        "z",
        types=SCALAR,
    )
    program = load(tmp_path, made)
    assert program.tensors["y"].shape == (8,)
    assert "'gate' (If): its branches give the shapes [8] and [4]" in program.notes[0]
    assert [op.kind for op in ops(only(program, If).arms[1].body)] == ["exp", "copy"]
    with pytest.raises(BadInput, match=r"'gate' \(If\)(?s:.)*--strict"):
        load(tmp_path, made, strict=True)


def test_unread_outputs_of_a_branch_are_left_out(tmp_path: Path) -> None:
    then = graph([node("Exp", "x", "t"), node("Log", "big", "u")], "t u")
    other = graph([node("Abs", "x", "v"), node("Neg", "big", "w")], "v w")
    made = model(
        [node("Concat", "x x", "big", axis=0), branch("c", "y unread", then, other)],
        {"x": [4], "c": []},
        "y",
        types=SCALAR,
    )
    assert kinds(load(tmp_path, made)) == ["exp", "abs"]


def _shrinking(then: str, other: str) -> Any:
    """A model whose arms squeeze a convolution's result with the strides that are their names."""
    arms = [
        graph(
            [node("Conv", "x w", "k", strides=[int(stride)]), node("Squeeze", "k axes", "s")],
            "s",
            constants=[numpy_helper.from_array(ints(2), "axes")],
        )
        for stride in (then, other)
    ]
    made = [node("Equal", "rate fast", "c"), branch("c", "y", *arms), node("Abs", "y", "z")]
    constants = {"w": zeros(2, 1, 4), "fast": numpy.array(16_000, numpy.int64)}
    return model(made, {"x": [1, 1, 8], "rate": []}, "z", constants, types={"rate": 7})


@pytest.mark.parametrize(("strides", "left_out"), [("58", None), ("18", "then"), ("81", "else")])
def test_an_arm_that_cannot_run_on_the_shapes_is_left_out(
    strides: str, left_out: str | None, tmp_path: Path
) -> None:
    program = load(tmp_path, _shrinking(*strides))
    assert kinds(program) == (["conv"] if left_out else ["equal", "conv", "conv", "abs"])
    said = f"'gate' (If): its arm {left_out!r} is left out, as it cannot run: node 'Squeeze_1"
    assert any(said in note for note in program.notes) == (left_out is not None)
    if left_out:
        with pytest.raises(BadInput, match="Squeeze"):
            load(tmp_path, _shrinking(*strides), strict=True)


def test_an_if_without_an_arm_that_can_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'Squeeze_1\w*' \(Squeeze\)"):
        load(tmp_path, _shrinking("1", "1"))


def test_a_damaged_arm_is_no_arm_that_cannot_run(tmp_path: Path) -> None:
    made = model(
        [branch("c", "y", graph([node("Exp", "x", "t")], "t"), graph([], "nowhere"))],
        {"x": [4], "c": []},
        "y",
        types=SCALAR,
    )
    with pytest.raises(BadInput, match="'nowhere'"):
        load(tmp_path, made)


UNFIT = {
    "its weight [4, 6, 1, 1]": node("Conv", "image six", "t"),
    "in 2 groups": node("Conv", "image one", "t", group=2),
    "cannot view [1, 3, 8, 8] as [5, 5]": node("Reshape", "image fives", "t"),
    "inner sizes 8 and 7": node("FusedMatMul", "rows matrix", "t", domain="com.microsoft"),
    "its K is 7": node("MatMulNBits", "rows bits", "t", domain="com.microsoft", K=7, N=5),
    "3 heads": node("Attention", "steps wide", "t", domain="com.microsoft", num_heads=3),
    "attribute perm is [0, 1]": node("Transpose", "image", "t", perm=[0, 1]),
}
"""Nodes whose operands do not fit, which is seen first where they become ops; by what is said of them."""


def _gated(then: Any, other: Any) -> Any:
    """A model in which ``then`` or ``other`` make the result, from what only one of them reads."""
    shapes = {"x": [4], "image": [1, 3, 8, 8], "rows": [4, 8], "steps": [2, 6, 8], "c": []}
    constants: dict[str, Any] = {
        "six": (4, 6, 1, 1),
        "one": (4, 1, 1, 1),
        "fives": ints(5, 5),
        "matrix": (7, 5),
        "bits": numpy.zeros((5, 1, 8), numpy.uint8),
        "wide": (9, 12),
    }
    made = model([branch("c", "y", then, other), node("Abs", "y", "z")], shapes, "z", constants, types=SCALAR)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


@pytest.mark.parametrize("words", UNFIT)
def test_an_arm_that_cannot_become_ops_is_left_out_as_if_the_file_had_none(
    words: str, tmp_path: Path
) -> None:
    unfit, runs = graph([UNFIT[words]], "t"), graph([node("Exp", "x", "u")], "u")
    nested = graph([branch("c", "v", unfit, unfit, "inner")], "v")
    for arms in ((unfit, runs), (runs, unfit), (nested, runs)):
        program = load(tmp_path, _gated(*arms))
        assert (kinds(program), program.inputs) == (["exp", "abs"], ("x",))
        assert program.tensors["z"].shape == (4,)
        (said,) = [note for note in program.notes if "is left out, as it cannot run" in note]
        assert f"'gate' (If): its arm {'else' if arms[0] is runs else 'then'!r}" in said
        assert words in said
        with pytest.raises(BadInput):
            load(tmp_path, _gated(*arms), strict=True)
    with pytest.raises(BadInput, match=re.escape(words)):
        load(tmp_path, _gated(unfit, unfit))
