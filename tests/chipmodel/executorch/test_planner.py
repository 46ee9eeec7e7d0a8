"""The planner on graphs with the attributes of ExecuTorch's, run on a machine that marks every byte.

``python -m bench.executorch`` does the same with the real ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.executorch import ExecutorchMemory, ExecutorchPlanner
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from solvers.core.outcome import Limits
from solvers.heuristics.executorch_greedy import executorch_greedy
from tests.support.executorch_fakes import Clobbered, Machine, Module, Node, Spec, plan, random_module
from tests.support.narrowed import some

NODES = Limits(nodes=2_000)
SEEDS = st.integers(0, 1 << 32)


def computes_the_same(module: Module, sizes: list[int], arms: str = "") -> None:
    """Run the module, its branches as ``arms`` says and then by chance."""
    random = Random(arms)
    chosen = iter(arms)
    machine = Machine(sizes, lambda: next(chosen, random.choice("tf")) == "t")
    inputs = [None for node in module.graph.nodes if node.op == "placeholder"]
    for value, marks in machine.run(module, inputs):
        machine.read(value, marks)


def like_executorch(
    alignment: int, specs: list[Spec], module: Module, signature: object, padding: int
) -> list[int]:
    """ExecuTorch's ``greedy``: each graph above its submodules."""
    buffers = tuple(
        Buffer(
            str(i), spec.realign(alignment), (Interval(spec.lifetime[0] or 0, (spec.lifetime[1] or 0) + 1),)
        )
        for i, spec in enumerate(specs)
    )
    found = executorch_greedy(Problem(buffers))
    start = (*module.input_mem_buffer_sizes, 0, 0)[1]
    for number, spec in enumerate(specs):
        spec.mem_id, spec.mem_offset = 1, start + found.offsets[str(number)]
    return [0, start + found.peak(Problem(buffers))]


def two_branches() -> Module:
    """``cond(...) + cond(...)``: the second must leave the first one's result alone."""
    module = Module()
    x = module.placeholder(8)
    results = [module.cond((arm(), arm()), [x], [8], x)[0] for _ in range(2)]
    return module.output([module.call(results, 8)])


def arm(*sizes: int) -> Module:
    """One op after another, beginning with one that reads the only placeholder."""
    module = Module()
    node = module.placeholder(8)
    for size in (*sizes, 8):
        node = module.call([node], size)
    return module.output([node])


def passing() -> Module:
    """A graph that returns its only placeholder."""
    module = Module()
    return module.output([module.placeholder(8)])


def viewed_branch() -> Module:
    """A view of a branch's result: emitted with the address that was planned for the result."""
    module = Module()
    x = module.placeholder(8)
    (result,) = module.cond((arm(), arm(24)), [x], [8], x)
    return module.output([module.call([module.view(result)], 8)])


def nested_branches() -> Module:
    """The first arm returns the result of a branch of its own; that result is used after another branch."""
    outer = Module()
    inside = outer.placeholder(8)
    (result,) = outer.cond((arm(), arm(16)), [inside], [8], inside)
    outer.output([result])
    module = Module()
    x = module.placeholder(8)
    (first,) = module.cond((outer, arm()), [x], [8], x)
    (second,) = module.cond((arm(32), arm()), [first], [8], x)
    return module.output([module.call([first, second], 8)])


def viewed_in_a_loop() -> Module:
    """The body of a ``map`` reads a view of a tensor outside, which has no bytes of its own inside."""
    body = Module()
    row, outside = body.placeholder(4), body.placeholder(8)
    body.output([body.call([row, body.view(outside)], 4)])
    module = Module()
    x, y = module.placeholder(8), module.placeholder(8)
    return module.output([module.map(body, x, [y], 8)])


@pytest.mark.parametrize("made", [two_branches, viewed_branch, nested_branches, viewed_in_a_loop])
def test_what_the_plan_of_executorch_computes_wrong_is_right(made: Callable[[], Module]) -> None:
    """The runtime computes the same wrong results: see bench/results/runtimes.md."""
    module = made()
    sizes = plan(like_executorch, module)
    with pytest.raises(Clobbered):
        computes_the_same(module, sizes, "tttt")
    for arms in ("tttt", "tfft", "ffff", "fttf"):
        module = made()
        computes_the_same(module, plan(ExecutorchPlanner(), module), arms)


def planned_unless_viewed(planner: ExecutorchPlanner, module: Module, alignment: int) -> list[int] | None:
    """The sizes; None for a view of a result that is no tensor of the arm's own, which is refused."""
    try:
        return plan(planner, module, alignment)
    except BadInput as reason:
        if "a view of result" not in str(reason):
            raise
        return None


@given(SEEDS, st.sampled_from((1, 4)))
@settings(max_examples=40, deadline=None)
def test_random_methods_find_every_byte_as_it_was_written(seed: int, alignment: int) -> None:
    module = random_module(Random(seed), unit=alignment)
    planner = ExecutorchPlanner(limits=NODES)
    sizes = planned_unless_viewed(planner, module, alignment)
    if sizes is None:
        return
    (answer,) = planner.answers
    assert sizes == list(answer.sizes)
    assert all(bound <= size for bound, size in zip(answer.lower_bounds, answer.sizes, strict=True))
    for arms in ("t", "f", "tf"):
        computes_the_same(module, sizes, arms)


@given(SEEDS, st.integers(4, 16), st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_random_methods_keep_the_capacities_of_two_memories(seed: int, fast: int, padding: int) -> None:
    module = random_module(Random(seed))
    memories = (ExecutorchMemory("fast", 2, fast), ExecutorchMemory("slow", 1, 12))
    planner = ExecutorchPlanner(memories, limits=NODES)
    try:
        sizes = plan(planner, module, padding=padding)
    except (BadInput, DoesNotFit):
        return
    assert sizes[0] == 0
    assert sizes[1] <= 12
    assert sizes[2] <= fast
    computes_the_same(module, sizes, "tf")


def chain(*sizes: int, mem_ids: dict[int, int] | None = None) -> Module:
    """Ops that each read the one before; the input is the first."""
    module = Module()
    nodes = [module.placeholder(sizes[0])]
    for number, size in enumerate(sizes[1:], 1):
        nodes.append(module.call(nodes[-1:], size, (mem_ids or {}).get(number)))
    return module.output(nodes[-1:])


def offsets(module: Module) -> list[tuple[int | None, int | None]]:
    return [(node.spec.mem_id, node.spec.mem_offset) for node in module.graph.nodes if node.op != "output"]


def test_the_arms_share_bytes_and_fill_those_of_what_died_before() -> None:
    """By hand: 40 + 8 bytes are alive at first; then, in each arm, 8 + 24 and 24 + 8, as the branch is the
    last to read its operand, and its arms do so at once."""
    module = Module()
    x = module.placeholder(40)
    y = module.call([x], 8)
    (result,) = module.cond((arm(24), arm(24)), [y], [8], y)
    planner = ExecutorchPlanner()
    assert plan(planner, module.output([result])) == [0, 48]
    assert planner.answers[0].optimal
    assert planner.answers[0].lower_bounds == (0, 48)


def test_a_padded_method_ends_with_its_padding() -> None:
    assert plan(ExecutorchPlanner(), chain(8, 8, 4), padding=64) == [0, 16 + 64]


def test_a_mem_id_of_a_pass_before_is_kept() -> None:
    module = chain(8, 8, 8, mem_ids={1: 3})
    assert plan(ExecutorchPlanner(), module) == [0, 8, 0, 8]
    assert offsets(module) == [(1, 0), (3, 0), (1, 0)]


def test_the_fast_memory_keeps_most_bytes() -> None:
    """24 of 8 + 16, 16 + 20, 20 + 8: the 20 go to the slow memory, which is fewer than 8 + 16 would be."""
    module = chain(8, 16, 20, 8)
    planner = ExecutorchPlanner((ExecutorchMemory("fast", 2, 24), ExecutorchMemory("slow", 5, 100)))
    assert plan(planner, module) == [0, 0, 24, 0, 0, 20]
    assert [mem_id for mem_id, _ in offsets(module)] == [2, 2, 5, 2]
    assert (planner.answers[0].spilled_bytes, planner.answers[0].spilled_bound) == (20, 20)


def test_a_memory_that_is_not_listed_gets_only_what_has_its_number() -> None:
    module = chain(8, 8, 8, mem_ids={1: 7})
    planner = ExecutorchPlanner((ExecutorchMemory("fast", 1, 8),))
    assert plan(planner, module) == [0, 8, 0, 0, 0, 0, 0, 8]


def test_too_little_memory_is_said_with_bytes() -> None:
    memories = (ExecutorchMemory("fast", 1, 8), ExecutorchMemory("slow", 2, 24))
    with pytest.raises(DoesNotFit) as error:
        plan(ExecutorchPlanner(memories), chain(16, 20, 8))
    assert str(error.value) == (
        "no plan fits: 36 B are alive together, the largest tensor has 20 B; there are fast 8 B, slow 24 B\n"
        "  hint: give a memory more bytes or list another"
    )


def test_padding_is_said_where_it_is_what_does_not_fit() -> None:
    with pytest.raises(DoesNotFit, match="each less 64 B of padding"):
        plan(ExecutorchPlanner((ExecutorchMemory("only", 1, 70),)), chain(8, 8), padding=64)


def aliased(at: int, size: int) -> tuple[Module, Spec]:
    module = Module()
    x = module.placeholder(16)
    y = module.call([x], size)
    y.spec.storage_base, y.spec.storage_base_offset = x.spec, at
    return module.output([module.call([y], 16)]), y.spec


def test_an_alias_lies_within_its_base() -> None:
    module, alias = aliased(8, 8)
    planner = ExecutorchPlanner()
    assert plan(planner, module, alignment=4) == [0, 32]
    (_, base), (_, inside), _ = offsets(module)
    assert inside == some(base) + 8
    assert alias.mem_obj_id == module.graph.nodes[0].spec.mem_obj_id
    assert (planner.answers[0].tensors, planner.answers[0].buffers) == (3, 2)


@pytest.mark.parametrize(
    ("at", "size", "wrong"),
    [
        (12, 8, "takes bytes 12 to 20 of one with 16"),
        (-4, 4, "takes bytes -4 to 0 of one with 16"),
        (2, 4, "begins at byte 2 of another, which is not aligned to 4"),
    ],
)
def test_an_alias_out_of_place_is_refused(at: int, size: int, wrong: str) -> None:
    with pytest.raises(BadInput, match=wrong):
        plan(ExecutorchPlanner(), aliased(at, size)[0], alignment=4)


def test_an_alias_of_what_is_not_planned_is_refused() -> None:
    with pytest.raises(BadInput, match="is in one that is not planned"):
        plan(ExecutorchPlanner(), aliased(0, 4)[0], inputs=False)


def test_an_arm_of_two_branches_is_refused() -> None:
    module = Module()
    x = module.placeholder(8)
    shared = arm()
    results = [module.cond((shared, arm()), [x], [8], x)[0] for _ in range(2)]
    with pytest.raises(BadInput, match="two nodes run the same submodule"):
        plan(ExecutorchPlanner(), module.output(results))


def test_a_view_of_a_result_that_is_an_operand_is_refused() -> None:
    """An arm that returns its operand: the result points there, but its view has the planned address."""
    module = Module()
    x = module.placeholder(8)
    (result,) = module.cond((passing(), arm()), [x], [8], x)
    module.output([module.call([module.view(result)], 8)])
    with pytest.raises(BadInput, match="remove_view_copy=False"):
        plan(ExecutorchPlanner(), module)


def passed_through() -> tuple[Module, Node]:
    """A method, and the result of a branch whose one arm returns what a branch within got as operand."""
    outer = Module()
    inside = outer.placeholder(8)
    node = outer.call([inside], 8)
    (passed,) = outer.cond((passing(), passing()), [node], [8], node)
    outer.output([passed])
    module = Module()
    x = module.placeholder(8)
    (result,) = module.cond((outer, arm()), [x], [8], x)
    return module, result


def test_a_result_that_was_passed_through_two_branches_keeps_its_bytes() -> None:
    for arms in ("ttt", "tff", "ff"):
        module, result = passed_through()
        (other,) = module.cond((arm(32), arm(16)), [module.graph.nodes[0]], [8], result)
        module.output([module.call([result, other], 8)])
        computes_the_same(module, plan(ExecutorchPlanner(), module), arms)


def test_nothing_to_plan_takes_nothing() -> None:
    assert ExecutorchPlanner()(16, [], Module().output([]), None, 0) == [0, 0]


def test_tensors_that_share_bytes_have_one_object_number() -> None:
    """As ``Verifier.verify_storage_reuse`` asks for."""
    module = random_module(Random(5), depth=0)
    plan(ExecutorchPlanner(), module)
    specs = list(dict.fromkeys(node.spec for node in module.graph.nodes if node.op != "output"))
    for a in specs:
        for b in specs:
            assert a.mem_offset is not None
            assert b.mem_offset is not None
            if a.mem_offset < b.mem_offset + b.bytes and b.mem_offset < a.mem_offset + a.bytes:
                assert a.mem_obj_id == b.mem_obj_id


@pytest.mark.parametrize(
    ("memories", "wrong"),
    [
        ([("a", 0, 8)], "mem_id 0"),
        ([("a", 1, 0)], "0 bytes"),
        ([("a", 1, 8), ("b", 1, 8)], "'a' and 'b'"),
        ([("a", 1, 8), ("a", 2, 8)], "same name"),
    ],
)
def test_memories_without_meaning_are_refused(memories: list[tuple[str, int, int]], wrong: str) -> None:
    with pytest.raises(BadInput, match=wrong):
        ExecutorchPlanner([ExecutorchMemory(*each) for each in memories])
