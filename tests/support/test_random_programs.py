"""Random programs: the same for the same seed, always valid, with all kinds of ops."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from chipmodel.model.program import If, Loop, Program, ops
from chipmodel.passes.validate import validate_program
from tests.support.random_programs import TreeShape, random_program
from tests.support.random_trees import depth

shapes = st.builds(
    TreeShape,
    ops=st.integers(1, 8),
    depth=st.integers(0, 3),
    side=st.integers(1, 7),
    channels=st.integers(1, 9),
)


@settings(max_examples=150)
@given(st.integers(0, 1 << 40), shapes)
def test_every_program_is_sound_and_of_its_shape(seed: int, shape: TreeShape) -> None:
    program = random_program(seed, shape)
    validate_program(program)
    assert program.outputs
    assert not any(set(op.inputs) & set(op.outputs) for op in ops(program.body))
    assert depth(program.body) <= shape.depth
    for name in program.inputs:
        n, channels, height, width = program.tensors[name].shape
        assert n == 1
        assert 1 <= height == width <= shape.side
        assert 1 <= channels <= shape.channels
    assert program.name == f"random-{seed}"
    assert str(seed) in program.source


@given(st.integers(0, 1000), shapes)
def test_the_same_seed_and_shape_give_the_same_program(seed: int, shape: TreeShape) -> None:
    assert random_program(seed, shape) == random_program(seed, shape)


def programs() -> list[Program]:
    return [random_program(seed, TreeShape(depth=2)) for seed in range(200)]


def test_other_seeds_give_other_programs() -> None:
    assert len({repr(p.body) for p in programs()}) == 200


def test_all_kinds_of_ops_and_control_flow_occur() -> None:
    seen: Counter[str] = Counter()
    for program in programs():
        seen.update(op.kind for op in ops(program.body))
        for node in program.nodes():
            if isinstance(node, If):
                seen["if"] += 1
                seen["condition"] += node.condition is not None
                seen["empty arm"] += any(not arm.body for arm in node.arms)
                seen["three arms"] += len(node.arms) == 3
                made = [{n for op in ops(arm.body) for n in op.outputs} for arm in node.arms]
                seen["joined"] += bool(made[0].intersection(*made[1:]))
            if isinstance(node, Loop):
                seen["loop"] += 1
                seen[f"{node.iterations} iterations"] += 1
                assert node.carried
        seen["output that an inner op reads"] += any(
            name in op.inputs for name in program.outputs for op in ops(program.body)
        )
    kinds = ("conv", "depthwise_conv", "max_pool", "add", "dense", "relu", "copy")
    flow = ("if", "condition", "empty arm", "three arms", "joined", "loop")
    iterations = (f"{number} iterations" for number in (1, 2, 3))
    for what in (*kinds, *flow, *iterations, "output that an inner op reads"):
        assert seen[what] >= 5, what
