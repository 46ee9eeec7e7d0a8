import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Arm, If, Loop, Node, Op, Program, Tensor
from chipmodel.model.work import Vector
from chipmodel.rewrites.op_order import dependencies, in_order, names_in_order


def op(name: str, reads: str, writes: str, overwrites: str | None = None) -> Op:
    work = Vector(elements=8, in_bytes=8, out_bytes=8, rows=8)
    return Op(name, "custom", work, tuple(reads.split()), tuple(writes.split()), overwrites=overwrites)


def program(*body: Node, inputs: str = "x") -> Program:
    return Program("p", {n: Tensor(n, 8) for n in "xabcdefy"}, {}, tuple(inputs.split()), ("y",), body)


FORK = program(op("a", "x", "a"), op("b", "x", "b"), op("c", "a", "c"), op("y", "b c", "y"))


def test_a_reader_follows_the_writer() -> None:
    assert dependencies(FORK.body) == ((), (), (0,), (1, 2))


def test_overwriting_follows_all_readers() -> None:
    body = (op("a", "x", "a"), op("b", "a", "b"), op("c", "a", "c"), op("d", "a", "d", overwrites="a"))
    assert dependencies(body) == ((), (0,), (0,), (0, 1, 2))


def test_a_new_value_follows_the_readers_of_the_old_one() -> None:
    """As in the body of a loop that carries ``a``: two ops read the old value, one writes."""
    body = (op("r1", "a", "b"), op("r2", "a", "c"), op("w", "x", "a"), op("r3", "a", "d"))
    assert dependencies(body) == ((), (), (0, 1), (2,))


def test_a_branch_or_loop_is_one_node_with_everything_below() -> None:
    branch = If("if", (Arm("yes", (op("c", "a", "c"),)), Arm("no", (op("n", "x", "c"),))), condition="b")
    loop = Loop("loop", 3, (op("d", "a c", "d"), op("e", "d", "a")), carried=("a",))
    body = (op("a", "x", "a"), op("b", "x", "b"), branch, loop, op("y", "a", "y"))
    assert dependencies(body) == ((), (), (0, 1), (0, 2), (3,))


def test_a_concat_follows_all_other_readers_of_an_absorbed_input() -> None:
    concat = Op("j", "concat", op("j", "a", "y").work, ("a", "b"), ("y",), absorbs=("a",))
    assert dependencies((op("a", "x", "a"), op("c", "a", "c"), concat)) == ((), (0,), (0, 1))


def test_another_order_keeps_everything_else() -> None:
    other = in_order(FORK, ("a", "c", "b", "y"))
    assert names_in_order(other) == ("a", "c", "b", "y")
    assert sorted(other.body, key=lambda n: n.name) == sorted(FORK.body, key=lambda n: n.name)
    assert in_order(other, names_in_order(FORK)) == FORK


def test_arms_and_loop_bodies_are_ordered_too() -> None:
    arm = Arm("yes", (op("c", "a", "c"), op("d", "a", "d")))
    tree = program(op("a", "x", "a"), If("if", (arm,)), op("y", "a", "y"))
    names = ("a", "if", "d", "c", "y")
    assert names_in_order(in_order(tree, names)) == names


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("a", "c", "b"), "has 'y' 0 times, the workload 1 times"),
        (("a", "c", "b", "y", "y"), "has 'y' 2 times"),
        (("a", "c", "b", "y", "z"), "has 'z' 1 times, the workload 0 times"),
        (("c", "a", "b", "y"), "'c' is ordered before 'a', which it must follow"),
    ],
)
def test_an_order_that_violates_a_dependency_is_refused(names: tuple[str, ...], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        in_order(FORK, names)


def test_an_op_does_not_leave_its_arm() -> None:
    tree = program(op("a", "x", "a"), If("if", (Arm("yes", (op("c", "a", "c"),)),)), op("y", "a", "y"))
    with pytest.raises(BadInput, match="has 'y' before 'c'"):
        in_order(tree, ("a", "if", "y", "c"))
