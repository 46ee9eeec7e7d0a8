"""Orders of whole programs; live bytes are counted by ``dma.residency.greedy``, which knows no search."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from chipmodel.model.program import Loop, Op, Program, Tensor
from chipmodel.model.work import Vector
from chipmodel.pipeline.order_search import live_bytes, ordered
from chipmodel.rewrites.in_place import CHOICES, InPlace
from chipmodel.rewrites.op_order import dependencies, in_order, names_in_order
from tests.support.random_programs import TreeShape, random_program
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def branches(*, pooled_late: bool) -> Program:
    """An image of 4 channels, and two branches: a map of 16 channels of 8 x 8, pooled to 4 x 4."""
    net = ProgramBuilder("branches")
    x = net.input("x", (1, 4, 8, 8))
    wide = [net.conv("a", x, 16, 1)]
    early = [] if pooled_late else [net.pool("pa", wide[0], 2)]
    wide.append(net.conv("b", x, 16, 1))
    late = [net.pool("pa", wide[0], 2)] if pooled_late else []
    net.output(net.elementwise("add", "sum", [*early, *late, net.pool("pb", wide[1], 2)]))
    return net.build()


def test_one_branch_after_another() -> None:
    """Given: at pa 1024 + 1024 live, and its 256. Best: at b 256 + 256 + 1024 (image, pa, b)."""
    given = branches(pooled_late=True)
    assert live_bytes(given, "all") == 1024 + 1024 + 256
    found = ordered(given, "all", "least-peak")
    assert (found.live_bytes, found.least_bytes, found.proven) == (1536, 1536, True)
    assert names_in_order(found.program) == ("a", "pa", "b", "pb", "sum")
    assert ordered(given, "all", "depth-first").program == found.program


def test_branches_take_turns() -> None:
    """The branch of one op, listed after those of three, runs as the second op that is ready."""
    names = names_in_order(ordered(small_network("residual"), "all", "breadth-first").program)
    assert names == ("head", "a", "skip", "b", "c", "sum")


def test_an_order_that_cannot_be_better_stays() -> None:
    program = branches(pooled_late=False)
    assert ordered(program, "all", "least-peak").program == program
    assert ordered(program, "all", "given").program == program


def in_a_loop(*body: Op) -> Program:
    """``body`` in a loop that carries ``c``, behind ops that make ``c`` and ``big`` of the input ``x``."""
    sizes = {"x": 1, "big": 100, "w": 40, "P": 10, "Q": 10, "c": 1}
    loop = Loop("loop", 3, body, carried=("c",))
    before = op("first", "x", "c"), op("grow", "x", "big")
    tensors = {name: Tensor(name, size) for name, size in sizes.items()}
    return Program("looped", tensors, {}, ("x",), ("c",), (*before, loop))


def op(name: str, reads: str, writes: str) -> Op:
    work = Vector(elements=1, in_bytes=1, out_bytes=1, rows=1)
    return Op(name, "custom", work, tuple(reads.split()), (writes,))


def test_what_a_loop_finds_is_alive_on_every_iteration() -> None:
    """``big`` does not die at ``p``, for the next iteration reads it: to run ``p`` first frees nothing, and
    ``P`` would lie beside ``w`` and ``Q``."""
    body = (op("m", "x", "w"), op("q", "w", "Q"), op("p", "big", "P"), op("j", "P Q", "c"))
    looped = in_a_loop(*body)
    assert ordered(looped, "all", "least-peak").program == looped
    other = in_a_loop(body[2], *body[:2], body[3])
    assert ordered(other, "all", "least-peak").program == looped


def all_orders(program: Program) -> Iterator[Program]:
    after = dependencies(program.body)
    for order in permutations(range(len(program.body))):
        place = {op: index for index, op in enumerate(order)}
        if all(place[a] < place[op] for op, each in enumerate(after) for a in each):
            yield in_order(program, tuple(program.body[op].name for op in order))


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
def test_no_order_of_a_small_program_has_fewer_live_bytes(choice: InPlace) -> None:
    gained = 0
    for seed in range(40):
        program = random_program(seed, TreeShape(ops=6, depth=0))
        found = ordered(program, choice, "least-peak")
        least = min(live_bytes(each, choice) for each in all_orders(program))
        assert found.live_bytes == found.least_bytes == least, seed
        assert found.live_bytes == live_bytes(found.program, choice)
        gained += least < live_bytes(program, choice)
    assert gained
