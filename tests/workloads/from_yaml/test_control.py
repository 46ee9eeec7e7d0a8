"""`if` and `loop` of the YAML workload format."""

from chipmodel.model.program import If, Loop, Op, Program, ops
from tests.support.narrowed import of_kind
from tests.workloads.from_yaml.yaml_text import X, kinds, program

ARMS = ("- op: if", "  name: gate", "  condition: score", "  arms:")


def gated(*lines: str) -> Program:
    return program("- {op: reduce_sum, name: score, in: x, axes: [0, 1, 2, 3]}", *ARMS, *lines)


def test_an_arms_own_tensor_becomes_the_output_and_an_outer_one_is_copied() -> None:
    made = gated(
        "    yes: [{op: relu, name: r, in: x}, {op: abs, name: s}]",
        "    no: []",
        "  outputs: {y: {yes: s, no: x}}",
        "- {op: neg, name: n}",
    )
    _, gate, after = made.body
    assert isinstance(gate, If)
    yes, no = gate.arms
    assert (gate.condition, yes.name, no.name) == ("score", "yes", "no")
    assert kinds(yes.body) == ["relu", "abs"]
    assert [op.outputs for op in ops(yes.body)] == [("r",), ("y",)]
    assert kinds(no.body) == ["copy"]
    assert [(op.inputs, op.outputs) for op in ops(no.body)] == [(("x",), ("y",))]
    assert of_kind(Op, after).inputs == ("y",)
    assert "s" not in made.tensors
    assert made.notes == ("the arm 'no' copies 'x' to 'y'",)


def test_nested_results_and_loops_inside_an_arm_are_renamed_throughout() -> None:
    made = gated(
        "    yes:",
        "      - op: loop",
        "        name: l",
        "        iterations: 3",
        "        carry: {h: {from: x, next: n}}",
        "        ops: [{op: relu, name: n, in: h}]",
        "    no:",
        "      - op: if",
        "        name: inner",
        "        arms: {a: [{op: relu, name: p, in: x}], b: []}",
        "        outputs: {q: {a: p, b: x}}",
        "  outputs: {y: {yes: h, no: q}}",
    )
    gate = of_kind(If, made.body[1])
    loop, inner = gate.arms[0].body[-1], gate.arms[1].body[-1]
    assert isinstance(loop, Loop)
    assert loop.carried == ("y",)
    assert [(op.inputs, op.outputs) for op in ops(loop.body)] == [(("y",), ("n",)), (("n",), ("y",))]
    assert isinstance(inner, If)
    assert [op.outputs for arm in inner.arms for op in ops(arm.body)] == [("y",), ("y",)]


def test_the_first_op_of_an_arm_reads_the_output_of_the_op_before_the_if() -> None:
    made = program(
        "- {op: abs, name: a}", "- {op: if, arms: {p: [{op: relu}], q: []}}", tail="outputs: [a]\n"
    )
    gate = of_kind(If, made.body[1])
    assert [op.inputs for op in ops(gate.arms[0].body)] == [("a",)]


def test_a_loop_copies_in_before_and_over_at_the_end_of_each_iteration() -> None:
    made = program(
        "- op: loop",
        "  name: l",
        "  iterations: 10",
        "  carry: {h: {from: x, next: n}}",
        "  ops: [{op: conv, name: n, in: h, channels: 8, kernel: 1}]",
        "- {op: relu, name: r}",
    )
    before, loop, after = made.body
    assert isinstance(before, Op)
    assert isinstance(loop, Loop)
    assert (before.kind, before.inputs, before.outputs) == ("copy", ("x",), ("h",))
    assert (loop.iterations, loop.carried, kinds(loop.body)) == (10, ("h",), ["conv", "copy"])
    assert [(op.inputs, op.outputs) for op in ops(loop.body)] == [(("h",), ("n",)), (("n",), ("h",))]
    assert of_kind(Op, after).inputs == ("h",)
    assert made.macs == 10 * 256 * 64


def test_carried_tensors_change_all_at_once() -> None:
    made = program(
        "- op: loop",
        "  name: fib",
        "  iterations: 3",
        "  carry:",
        "    {a: {from: x, next: b}, b: {from: y, next: sum}, c: {from: x, next: a}, d: {from: x, next: a}}",
        "  ops: [{op: add, name: sum, in: [a, b]}]",
        inputs=X + ", y: [1, 8, 16, 16]",
        tail="outputs: [a, b, c, d]\n",
    )
    loop = of_kind(Loop, made.body[-1])
    copies = [(op.inputs[0], op.outputs[0]) for op in ops(loop.body)][1:]
    # c and d take the old a, which is saved before a is replaced by the old b.
    assert copies == [("a", "fib.a.old"), ("b", "a"), ("sum", "b"), ("fib.a.old", "c"), ("fib.a.old", "d")]
