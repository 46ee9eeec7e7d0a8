"""Probabilities, numbers of iterations, early exits and slices of the YAML workload format."""

from fractions import Fraction

import numpy
import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import If, Loop, Node, Op, Program, ops
from tests.support.narrowed import of_kind
from tests.workloads.from_onnx.tree_values import outputs
from tests.workloads.from_yaml.yaml_text import program
from workloads.build.control_options import (
    parse_iterations_option,
    parse_probability_option,
    with_probabilities,
)
from workloads.load import load

V = "x: [4], y: [4]"


def only(made: Program, kind: type[If] | type[Loop]) -> If | Loop:
    (found,) = [node for node in made.body if isinstance(node, kind)]
    return found


def gate(arms: str, tail: str = "outputs: [o]\n") -> If:
    made = program(
        f"- {{op: if, name: g, arms: {{{arms}}}}}", "- {op: add, name: o, in: [x, y]}", inputs=V, tail=tail
    )
    return of_kind(If, only(made, If))


def test_probabilities_are_the_decimals_that_are_written() -> None:
    found = gate("a: {probability: 0.1}, b: {ops: [{op: relu, in: x}], probability: 0.2}, c: []")
    assert [arm.probability for arm in found.arms] == [Fraction(1, 10), Fraction(1, 5), None]
    assert [len(arm.body) for arm in found.arms] == [0, 1, 0]
    assert [arm.probability for arm in gate("a: {probability: 0.1}, b: {probability: 0.9}").arms] == [
        Fraction(1, 10),
        Fraction(9, 10),
    ]
    assert [arm.probability for arm in gate("a: {probability: 1}, b: {probability: 0}").arms] == [1, 0]


@pytest.mark.parametrize(
    ("iterations", "most", "chances"),
    [
        ("7", 7, ()),
        ("{min: 1, max: 3}", 3, ((1, Fraction(1, 3)), (2, Fraction(1, 3)), (3, Fraction(1, 3)))),
        ("{max: 1}", 1, ((0, Fraction(1, 2)), (1, Fraction(1, 2)))),
        ("{min: 4, max: 4}", 4, ()),
        ("{4: 0.25, 1: 0.75}", 4, ((1, Fraction(3, 4)), (4, Fraction(1, 4)))),
        ('{"2": 1}', 2, ()),
    ],
)
def test_numbers_of_iterations(iterations: str, most: int, chances: tuple[tuple[int, Fraction], ...]) -> None:
    made = program(
        f"- {{op: loop, iterations: {iterations}, ops: [{{op: relu, in: x}}]}}",
        "- {op: abs, name: o, in: x}",
        inputs=V,
    )
    found = of_kind(Loop, only(made, Loop))
    assert (found.iterations, found.chances) == (most, chances)


def test_an_op_may_name_its_core() -> None:
    made = program("- {op: abs, name: a, in: x, core: 2}", "- {op: relu}", inputs=V)
    assert [op.core for op in ops(made.body)] == [2, None]


# -- early exits -----------------------------------------------------------------------------------


def shape(body: tuple[Node, ...]) -> list[object]:
    """The kind and outputs of each op, and the arms of each ``if``."""
    found: list[object] = []
    for node in body:
        match node:
            case Op():
                found.append(f"{node.kind} {node.outputs[0]}")
            case If():
                found.append({arm.name: shape(arm.body) for arm in node.arms})
            case Loop():
                found.append(shape(node.body))
    return found


TWO_EXITS = (
    "- {op: abs, name: a, in: x}",
    "- {op: neg, name: first}",
    "- op: if",
    "  name: sure",
    "  condition: first",
    "  arms: {leave: {exit: true, probability: 0.3}, stay: []}",
    "  outputs: {score: {leave: first, stay: rest}}",
    "- {op: relu, name: b, in: a}",
    "- op: if",
    "  name: surer",
    "  arms: {leave: {exit: true, ops: [{op: exp, name: second}]}, stay: [{op: log, name: c}]}",
    "  outputs: {rest: {leave: second, stay: last}}",
    "- {op: sqrt, name: last}",
)


def test_ops_after_an_exit_are_in_the_arm_without_exit() -> None:
    made = program(*TWO_EXITS, inputs=V)
    assert shape(made.body) == [
        "abs a",
        "neg first",
        {
            "leave": ["copy score"],
            "stay": ["relu b", {"leave": ["exp score"], "stay": ["log c", "sqrt score"]}],
        },
    ]
    assert made.outputs == ("score",)
    assert [arm.probability for arm in only(made, If).arms] == [Fraction(3, 10), None]  # type: ignore[union-attr]


def test_an_exit_in_a_loop_ends_the_iteration_and_one_in_an_arm_the_arm() -> None:
    made = program(
        "- op: loop",
        "  name: l",
        "  iterations: 3",
        "  carry: {h: {from: x, next: n}}",
        "  ops:",
        "    - {op: if, name: skip, arms: {yes: {exit: true}, no: []}, outputs: {n: {yes: y, no: m}}}",
        "    - {op: add, name: m, in: [h, y]}",
        "- op: if",
        "  name: outer",
        "  arms:",
        "    p:",
        "      - {op: if, name: inner, arms: {q: {exit: true}, r: []}, outputs: {u: {q: x, r: v}}}",
        "      - {op: relu, name: v, in: h}",
        "    s: []",
        "  outputs: {o: {p: u, s: y}}",
        inputs=V,
    )
    assert shape(made.body) == [
        "copy h",
        [{"yes": ["copy n"], "no": ["add n"]}, "copy h"],
        {"p": [{"q": ["copy o"], "r": ["relu o"]}], "s": ["copy o"]},
    ]


# -- slices ----------------------------------------------------------------------------------------

SUMS = (
    "- op: loop",
    "  name: l",
    "  iterations: 3",
    "  each: {p: xs}",
    "  carry: {h: {from: y, next: n}}",
    "  collect: {hs: h, ns: n}",
    "  ops:",
    "    - {op: add, name: n, in: [h, p]}",
)


def test_each_iteration_reads_a_slice_and_collects_one() -> None:
    made = program(*SUMS, inputs="xs: [3, 2], y: [2]", tail="outputs: [h, hs, ns]\n")
    found = of_kind(Loop, only(made, Loop))
    assert found.carried == ("h", "hs", "ns")
    assert shape(made.body) == [
        "copy h",
        "allocate hs",
        "allocate ns",
        ["slice p", "add n", "collect hs", "collect ns", "copy h"],
    ]
    given = {"xs": numpy.array([[1, 2], [3, 4], [5, 6]]), "y": numpy.array([10, 20])}
    values = {name: value.tolist() for name, value in outputs(made, given, {}).items()}
    assert values == {"h": [19, 32], "hs": [10, 20, 11, 22, 14, 26], "ns": [11, 22, 14, 26, 19, 32]}
    assert made.tensors["hs"].shape == (3, 2)


# -- options of the command line -------------------------------------------------------------------


def test_probabilities_from_the_command_line() -> None:
    made = program(*TWO_EXITS, inputs=V)
    likely = with_probabilities(made, {"surer": (Fraction(1, 4),)})
    outer = of_kind(If, only(likely, If))
    inner = of_kind(If, outer.arms[1].body[-1])
    assert [arm.probability for arm in inner.arms] == [Fraction(1, 4), None]
    assert [arm.probability for arm in outer.arms] == [Fraction(3, 10), None]
    for given, message in (
        ({"surest": (Fraction(1),)}, "'surest', which is not an if"),
        ({"sure": (Fraction(1, 2), Fraction(1, 4))}, "add up to 0.75"),
        ({"sure": (Fraction(0),) * 3}, "3 numbers"),
    ):
        with pytest.raises(BadInput, match=message):
            with_probabilities(made, given)


def test_malformed_options_name_the_right_form() -> None:
    assert parse_iterations_option("a=b=12") == ("a=b", 12)
    assert parse_probability_option("g=0.3,0.2") == ("g", (Fraction(3, 10), Fraction(1, 5)))
    for text in ("a", "=3", "a=", "a=-1", "a=1.5", "a=2000000", "a=²"):
        with pytest.raises(BadInput, match="ITERATIONS"):
            parse_iterations_option(text)
    for text in ("g", "g=", "g=1.5", "g=x", "g=0.5,", "g=1/0", "g=nan", "=1"):
        with pytest.raises(BadInput, match="PROBABILITY"):
            parse_probability_option(text)


def test_iterations_are_for_onnx_files() -> None:
    with pytest.raises(BadInput, match=r"--iterations l=(?s:.)*--path l=3"):
        load("zoo:resnet8", iterations={"l": 3})
