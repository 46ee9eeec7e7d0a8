"""The independent check of a program: each rule with the smallest program that breaks it."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from chipmodel.errors import BadInput, Place
from chipmodel.model.program import Arm, If, Loop, Node, Op, Program, Tensor, Weight
from chipmodel.model.work import Vector
from chipmodel.passes.validate import validate_program
from tests.support.narrowed import some

SIZES = {"x": 8, "y": 8, "a": 8, "b": 8, "c": 8, "h": 8, "small": 4}


TEXT = re.compile(r"(\w+): (.*) > (\w*)(?: over (\w+))?(?: with (\w+))?")
Body = str | Node | tuple[str | Node, ...]


def op(text: str, **changes: Any) -> Op:
    """The op ``NAME: READS > WRITES over OVERWRITTEN with WEIGHT``, on the line of the number in its name."""
    name, reads, writes, over, weight = some(TEXT.fullmatch(text)).groups()
    place, weights = Place("w.yaml", int(name[-1]), 1), (weight,) if weight else ()
    made = Op(name, "copy", Vector(8, 8, 8), tuple(reads.split()), (writes,), weights, place=place)
    return replace(made, overwrites=over, **changes)


def body_of(given: Body) -> tuple[Node, ...]:
    every = given if isinstance(given, tuple) else (given,)
    return tuple(op(each) if isinstance(each, str) else each for each in every)


def program(*body: str | Node, outputs: str = "") -> Program:
    tensors = {name: Tensor(name, size) for name, size in SIZES.items()}
    weights, given = {"w": Weight("w", 4, 4)}, tuple(outputs.split())
    return Program("t", tensors, weights, ("x", "y"), given, body_of(body), "w.yaml")


def branch(*bodies: Body, condition: str | None = None) -> If:
    arms = tuple(Arm(f"arm{i}", body_of(body)) for i, body in enumerate(bodies))
    return If("gate", arms, condition, Place("w.yaml", 50, 1))


def loop(*body: str | Node, carried: str = "", iterations: int = 3, name: str = "loop", **more: Any) -> Loop:
    place = Place("w.yaml", 60, 1)
    return Loop(name, iterations, body_of(body), tuple(carried.split()), place=place, **more)


def chances(*numbers: tuple[int, int]) -> tuple[tuple[int, Fraction], ...]:
    """Numbers of iterations with their probabilities."""
    total = sum(share for _, share in numbers)
    return tuple((iterations, Fraction(share, total)) for iterations, share in numbers)


def likely(*probabilities: str | None) -> If:
    arms = (Arm(f"arm{i}", (), Fraction(p) if p else None) for i, p in enumerate(probabilities))
    return If("gate", tuple(arms), None, Place("w.yaml", 50, 1))


BROADCAST_FIRST = Vector(8, 8, 8, broadcast=(0,))
"""Work of which every part reads its whole first operand."""

CORRECT = {
    "probabilities of all arms": program(likely("1/4", "3/4")),
    "probabilities of some arms": program(likely("1/4", None, "1/2")),
    "a loop with chances": program(loop("o1: x > a", chances=chances((1, 1), (3, 2))), "o2: a > b"),
    "a slice of a tensor": program(loop(op("o1: x > a", sliced="x", slices=4))),
    "nothing at all": program(),
    "a chain": program("o1: x > a", "o2: a y > b", outputs="b"),
    "weights": program("o1: x > a with w"),
    "in place at the last use": program("o1: x > a", "o2: a > b over a", outputs="b"),
    "in place, read twice by the op itself": program("o1: x x > a over x"),
    "both arms define": program(branch("o1: x > a", "o2: y > a"), "o3: a > b"),
    "arms with a condition": program("o1: x > c", branch((), (), condition="c")),
    "a local of one arm": program(branch(("o1: x > a", "o2: a > b"), ())),
    "in place in every arm": program(
        "o1: x > a", branch("o2: a > b over a", "o3: a > b over a"), "o4: b > c"
    ),
    "a carried tensor": program("o1: x > h", loop("o2: h > a", "o3: a > h", carried="h"), outputs="h"),
    "a carried tensor overwritten and written again": program(
        "o1: x > h", loop("o2: h > a over h", "o3: a > h", carried="h")
    ),
    "a carried tensor written in one arm": program("o1: x > h", loop(branch("o2: h > h", ()), carried="h")),
    "in place on what the body made": program(loop("o1: x > a", "o2: a > b over a")),
    "what a loop that runs made": program(loop("o1: x > a"), "o2: a > b"),
    "a loop in a loop, both carry": program(
        "o1: x > h", loop(loop("o2: h > h", carried="h", name="in"), carried="h")
    ),
    "a loop in a loop with a state of its own": program(
        loop("o1: x > h", loop("o2: h > h", carried="h", name="in"))
    ),
}

WRONG = {
    "too many iterations": (program(loop("o1: x > a", iterations=1000001)), 60, "1000001 iterations"),
    "read before defined": (program("o1: b > a", "o2: x > b"), 1, "nothing before defines"),
    "read and never defined": (program("o1: c > a"), 1, "'c', which nothing before defines"),
    "unknown tensor": (program("o1: zz > a"), 1, "unknown tensor 'zz'"),
    "unknown weight": (program("o1: x > a with v"), 1, "unknown weight 'v'"),
    "one name for two ops": (program("o1: x > a", "o1: x > b"), 1, "used by 2 ops"),
    "defined twice": (program("o1: x > a", "o2: x > a"), 2, "'o1' defines already"),
    "an input defined": (program("o1: y > x"), 1, "an input defines already"),
    "defined again after an arm": (program(branch("o1: x > a", ()), "o2: x > a"), 2, "defines already"),
    "defined in one arm only": (
        program(branch("o1: x > a", ()), "o2: a > b"),
        2,
        "not every arm of 'gate' defines",
    ),
    "a sibling arm's": (program(branch("o1: x > a", "o2: a > b")), 2, "nothing before"),
    "an unknown condition": (program(branch((), (), condition="c")), 50, "decides by 'c'"),
    "a condition overwritten": (
        program("o1: x > c", "o2: c > a over c", branch((), (), condition="c")),
        2,
        "'gate' decides by 'c' later on line 50",
    ),
    "overwritten, then read": (
        program("o1: x > a", "o2: a > b over a", "o3: a > c"),
        2,
        "'o2' overwrites 'a' in place, but 'o3' reads 'a' later on line 3",
    ),
    "overwritten in one arm, then read": (
        program("o1: x > a", branch("o2: a > b over a", ()), "o3: a > c"),
        2,
        "later on line 3",
    ),
    "overwritten, then defined again": (program("o1: x > a over x", "o2: a > x"), 2, "defines already"),
    "overwrites what it does not read": (program("o1: x > a over y"), 1, "not one of its inputs"),
    "overwrites another size": (program("o1: x > small over x"), 1, "(4 bytes) over 'x' (8 bytes)"),
    "an output overwritten": (
        program("o1: x > a", "o2: a > b over a", outputs="a"),
        2,
        "the program gives 'a' later",
    ),
    "an output of one arm only": (program(branch("o1: x > a", ()), outputs="a"), 0, "not every arm"),
    "an output that nothing defines": (program(outputs="a"), 0, "'a', which nothing before defines"),
    "an outer tensor overwritten in a loop": (
        program("o1: x > a", loop("o2: a > b over a")),
        2,
        "next iteration",
    ),
    "an input overwritten in a loop's arm": (
        program(loop(branch("o1: x > a over x", ()))),
        1,
        "next iteration",
    ),
    "read from the iteration before": (program(loop("o1: b > a", "o2: a > b")), 1, "nothing before"),
    "a carried tensor without a first value": (
        program(loop("o1: x > h", carried="h")),
        60,
        "carries 'h', which nothing before defines",
    ),
    "a carried tensor without a next value": (
        program("o1: x > h", loop("o2: h > a", carried="h")),
        60,
        "nothing in it writes",
    ),
    "a carried tensor left overwritten": (
        program("o1: x > h", loop("o2: x > h", "o3: h > a over h", carried="h")),
        3,
        "the next iteration of 'loop' reads 'h' later",
    ),
    "written in an inner loop that does not carry it": (
        program("o1: x > h", loop(loop("o2: h > h", name="in"), carried="h")),
        2,
        "defines already",
    ),
    "carried by the inner loop alone": (
        program("o1: x > h", loop(loop("o2: h > h", carried="h", name="in"))),
        60,
        "loop around it",
    ),
    "what a loop of no iterations made": (
        program(loop("o1: x > a", iterations=0), "o2: a > b"),
        2,
        "of no iterations",
    ),
    "negative iterations": (program(loop("o1: x > a", iterations=-1)), 60, "-1 times"),
    "an if without arms": (program(branch()), 50, "no arms"),
    "what a loop makes that may run not at all": (
        program(loop("o1: x > a", chances=chances((0, 1), (3, 2))), "o2: a > b"),
        2,
        "does not define if it makes no iteration",
    ),
    "a probability above 1": (program(likely("3/2", None)), 50, "has the probability 1.5"),
    "a probability below 0": (program(likely("-1/2", None)), 50, "has the probability -0.5"),
    "probabilities of more than 1": (program(likely("2/3", "2/3", None)), 50, "add up to 4/3"),
    "probabilities of less than 1": (program(likely("1/2", "1/4")), 50, "add up to 0.75"),
    "chances that add up to less": (program(loop(chances=((3, Fraction(1, 2)),))), 60, "add up to 0.5"),
    "a negative chance": (
        program(loop(chances=((1, Fraction(3, 2)), (3, Fraction(-1, 2))))),
        60,
        "probability 1.5",
    ),
    "negative numbers of iterations": (program(loop(chances=chances((-1, 1), (3, 1)))), 60, "-1 iterations"),
    "one number of iterations twice": (program(loop(chances=chances((3, 1), (3, 1)))), 60, "3 iterations"),
    "more iterations than the most": (program(loop(chances=chances((3, 1), (4, 1)))), 60, "at most 4"),
    "written before it is read": (
        program("o1: x > h", loop(op("o2: h > h", work=BROADCAST_FIRST), carried="h")),
        2,
        "before it has read all of it",
    ),
    "slices of what it does not read": (
        program("o1: x > h", loop(op("o2: x > a", sliced="h", slices=2))),
        2,
        "one of 2 slices of 'h' (8 bytes)",
    ),
    "slices of unequal size": (program(op("o1: x > small", sliced="x", slices=3)), 1, "3 slices"),
}


@pytest.mark.parametrize("sound", CORRECT.values(), ids=CORRECT.keys())
def test_a_correct_program_passes(sound: Program) -> None:
    validate_program(sound)


@pytest.mark.parametrize(("broken", "line", "part"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_program_is_refused_at_its_line(broken: Program, line: int, part: str) -> None:
    with pytest.raises(BadInput) as raised:
        validate_program(broken)
    assert part in raised.value.what
    assert raised.value.hint
    assert raised.value.where == (Place("w.yaml", line, 1) if line else Place("w.yaml"))


@pytest.mark.parametrize("wrong", [replace(program(), inputs=("zz",)), replace(program(), outputs=("zz",))])
def test_inputs_and_outputs_must_be_tensors(wrong: Program) -> None:
    with pytest.raises(BadInput, match="'zz' is not a tensor"):
        validate_program(wrong)


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
