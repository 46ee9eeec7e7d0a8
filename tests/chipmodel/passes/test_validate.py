"""The independent check of a program: each rule with the smallest program that breaks it."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import yaml

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import Arm, If, Loop, Node, Op, Program, Tensor, Weight
from chipmodel.model.work import Vector
from chipmodel.passes.validate import validate_program
from tests.support.folders import ROOT
from tests.support.narrowed import some

SIZES = {"x": 8, "y": 8, "a": 8, "b": 8, "c": 8, "h": 8, "small": 4}
TEXT = re.compile(r"(\w+): (.*) > (\w*)(?: over (\w+))?(?: with (\w+))?")
CASES: Any = yaml.safe_load((ROOT / "tests" / "data" / "programs.yaml").read_text())


def node(written: Any) -> Node:
    """An op, branch or loop as the table of programs writes it: an op on the line that its name ends with."""
    more: dict[str, Any] = {} if isinstance(written, str) else dict(written)
    if "if" in more:
        arms = more["if"]
        chances = more.get("probabilities", [None] * len(arms))
        made = (Arm(f"arm{i}", body(arm), chances[i] and Fraction(chances[i])) for i, arm in enumerate(arms))
        return If("gate", tuple(made), more.get("condition"), Place("w.yaml", 50, 1))
    if "loop" in more:
        ops, carried = body(more.pop("loop")), tuple(more.pop("carried", "").split())
        chances = tuple((count, Fraction(share)) for count, share in more.pop("chances", ()))
        named: dict[str, Any] = {"name": "loop", "iterations": 3, **more}
        return Loop(body=ops, carried=carried, chances=chances, place=Place("w.yaml", 60, 1), **named)
    text = more.pop("op", written)
    return replace(op(text), work=Vector(8, 8, 8, broadcast=tuple(more.pop("broadcast", ()))), **more)


def op(text: str) -> Op:
    """The op ``NAME: READS > WRITES over OVERWRITTEN with WEIGHT``."""
    name, reads, writes, over, weight = some(TEXT.fullmatch(text)).groups()
    place, weights = Place("w.yaml", int(name[-1]), 1), (weight,) if weight else ()
    inputs = tuple(reads.split())
    return Op(name, "copy", Vector(8, 8, 8), inputs, (writes,), weights, overwrites=over, place=place)


def body(written: list[Any]) -> tuple[Node, ...]:
    return tuple(map(node, written))


def program(case: dict[str, Any]) -> Program:
    tensors = {name: Tensor(name, size) for name, size in SIZES.items()}
    outputs = tuple(case.get("outputs", "").split())
    return Program("t", tensors, {"w": Weight("w", 4, 4)}, ("x", "y"), outputs, body(case["body"]), "w.yaml")


@pytest.mark.parametrize("name", CASES["correct"])
def test_a_correct_program_passes(name: str) -> None:
    validate_program(program(CASES["correct"][name]))


@pytest.mark.parametrize("name", CASES["wrong"])
def test_a_wrong_program_is_refused_at_its_line(name: str) -> None:
    case = CASES["wrong"][name]
    with pytest.raises(BadInput) as raised:
        validate_program(program(case))
    assert case["said"] in raised.value.what
    assert raised.value.hint
    assert raised.value.where == (Place("w.yaml", case["line"], 1) if case["line"] else Place("w.yaml"))


@pytest.mark.parametrize("wrong", [{"inputs": ("zz",)}, {"outputs": ("zz",)}])
def test_inputs_and_outputs_must_be_tensors(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="'zz' is not a tensor"):
        validate_program(replace(program({"body": []}), **wrong))


def test_a_tensor_beyond_all_memories_is_refused() -> None:
    tensors = {"x": Tensor("x", 8), "y": Tensor("y", 1 << 90)}
    grown = Op("o", "pad", Vector(8, 8, 8), ("x",), ("y",))
    with pytest.raises(BadInput, match="the tensor 'y' has 1,237,940,039,285,380,274,899,124,224 bytes"):
        validate_program(Program("t", tensors, {}, ("x",), ("y",), (grown,)))


def test_the_error_for_an_unknown_name_suggests_a_similar_one() -> None:
    tensors = {n: Tensor(n, 8) for n in ("image", "imgae", "out")}
    read = Op("o", "copy", Vector(8, 8, 8), ("imgae",), ("out",))
    with pytest.raises(BadInput) as raised:
        validate_program(Program("t", tensors, {}, ("image",), (), (read,)))
    assert "did you mean 'image'" in raised.value.hint
