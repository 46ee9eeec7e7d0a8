"""Blocks before a squeeze and excitation that run twice: which there are, and the ops of both runs."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.model.attributes import AlongAxis
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.channel_parts import has_other_ops
from chipmodel.rewrites.in_place import InPlace, reuse
from chipmodel.rewrites.made_twice import made_twice, named_twice, squeezed_blocks, worth_twice
from workloads.build.builder import ProgramBuilder


def squeezed(early: bool = False, narrow: int = 4, image: int = 8) -> Program:
    """An inverted residual on 10 x 10 pixels with 16 channels inside, squeezed and excited. What is squeezed
    may have an ``early`` reader, too."""
    b = ProgramBuilder("squeezed")
    x = b.conv("stem", b.input("image", (1, image, 10, 10)), narrow, 1)
    y = b.elementwise("relu", "act", [b.conv("expand", x, 16, 1)])
    y = b.conv("depthwise", y, 16, 3, pad=1, groups=16)
    if early:
        b.output(b.elementwise("relu", "early", [y]))
    gate = b.conv("gate", b.pool("squeeze", y, None, kind="average_pool"), 16, 1)
    z = b.elementwise("mul", "excite", [y, gate])
    b.output(b.elementwise("add", "add", [b.conv("project", z, narrow, 1), x]))
    return reuse(b.build(), "all")


def blocks(program: Program) -> list[list[str]]:
    return [[op.name for op in block.ops] for block in squeezed_blocks(program)]


def test_ops_by_hand() -> None:
    program = squeezed()
    assert blocks(program) == [["expand", "act", "depthwise"]]
    twice = made_twice(program, ["depthwise"])
    ops = {op.name: op for op in twice.ops()}
    first = ["expand@first", "act@first", "depthwise@first", "squeeze", "gate"]
    assert list(ops) == ["stem", *first, "expand", "act", "depthwise", "excite", "project", "add"]
    assert ops["expand@first"].inputs == ops["expand"].inputs == ("stem",)
    assert ops["squeeze"].inputs == ("depthwise@first",)
    assert ops["excite"].inputs == ("depthwise", "gate")
    assert ops["excite"].overwrites == "depthwise"
    assert ops["act@first"].overwrites == "expand@first"
    assert twice.macs - program.macs == 100 * 16 * (4 + 9)
    assert (twice.weight_bytes, twice.parameters) == (program.weight_bytes, program.parameters)
    assert twice.notes[-1] == "'expand' to 'depthwise' run twice"
    assert (has_other_ops(program), has_other_ops(twice)) == (False, True)
    assert made_twice(program, named_twice(ops)) == twice
    assert blocks(twice) == []


def test_a_block_begins_with_the_smallest_tensor() -> None:
    assert blocks(squeezed(image=3)) == [["stem", "expand", "act", "depthwise"]]
    assert blocks(squeezed(narrow=16, image=16)) == []


def test_what_is_read_before_the_gates_are_known_stays_whole() -> None:
    assert blocks(squeezed(early=True)) == []
    assert made_twice(squeezed(early=True), ["depthwise"]) == squeezed(early=True)


def test_what_overwrites_the_input_between_both_runs_no_longer_does() -> None:
    b = ProgramBuilder("between")
    x = b.conv("stem", b.input("image", (1, 8, 10, 10)), 4, 1)
    y = b.conv("expand", x, 16, 1)
    gate = b.conv("gate", b.pool("squeeze", y, None, kind="average_pool"), 16, 1)
    z = b.elementwise("relu", "other", [x])
    b.output(b.elementwise("mul", "excite", [y, gate]))
    b.output(b.conv("last", z, 4, 1))
    choices: tuple[tuple[InPlace, str | None], ...] = (
        ("all", "stem"),
        ("elementwise", "stem"),
        ("none", None),
    )
    for choice, old in choices:
        program = reuse(b.build(), choice)
        assert {op.name: op.overwrites for op in program.ops()}["other"] == old
        twice = made_twice(program, ["expand"])
        assert {op.name: op.overwrites for op in twice.ops()}["other"] is None


def test_ops_that_keep_something_run_once() -> None:
    program = squeezed()

    def gathering(node: object) -> Op:
        assert isinstance(node, Op)
        return replace(node, gathers=True) if node.name == "expand" else node

    assert blocks(replace(program, body=tuple(map(gathering, program.body)))) == []


def test_worth_it_beyond_a_budget_and_within_a_limit() -> None:
    program = squeezed()
    assert worth_twice(program, 1_599) == {"depthwise"}
    assert worth_twice(program, 1_600) == set()
    more = 1 + 100 * 16 * (4 + 9) / program.macs
    assert worth_twice(program, 0, more + 0.01) == {"depthwise"}
    assert worth_twice(program, 0, more - 0.01) == set()


def joined(gated: bool = True) -> Program:
    """Two convolutions side by side, of which a concat is squeezed; an op beside them that it does not
    need. What reads it again is ``gated`` or not."""
    b = ProgramBuilder("joined")
    x = b.conv("stem", b.input("image", (1, 8, 10, 10)), 4, 1)
    parts = [b.conv(name, x, 8, size, pad=size // 2) for name, size in (("small", 1), ("large", 3))]
    y = b.vector("concat", "joined", parts, (1, 16, 10, 10), rows=10, attributes=AlongAxis(1, 16))
    gate = b.conv("gate", b.pool("squeeze", y, None, kind="average_pool"), 16, 1)
    b.output(b.elementwise("mul", "excite", [y, gate]) if gated else b.elementwise("relu", "last", [y]))
    b.output(gate)
    return b.build()


def test_branches_run_twice_together() -> None:
    choices: tuple[InPlace, ...] = ("all", "concat")
    for choice in choices:
        program = reuse(joined(), choice)
        assert blocks(program) == [["small", "large", "joined"]]
        ops = {op.name: op for op in made_twice(program, ["joined"]).ops()}
        assert ops["joined"].absorbs == ("small", "large")
        assert ops["joined@first"].inputs == ("small@first", "large@first")
        assert ops["joined@first"].absorbs in ((), ("small@first", "large@first"))


def test_what_needs_no_gate_is_read_at_once() -> None:
    assert blocks(joined(gated=False)) == []


def test_ops_of_two_inputs_or_for_others_end_a_block() -> None:
    """``skip`` reads two tensors, and no block has ``other``, which its last op does not need."""
    b = ProgramBuilder("others")
    x = b.conv("stem", b.input("image", (1, 8, 10, 10)), 2, 1)
    skip = b.elementwise("add", "skip", [b.conv("expand", x, 8, 1), b.conv("other", x, 8, 1)])
    other = b.conv("beside", skip, 8, 1)
    y = b.conv("wide", skip, 16, 1)
    gate = b.conv("gate", b.pool("squeeze", y, None, kind="average_pool"), 16, 1)
    b.output(b.elementwise("mul", "excite", [y, gate]))
    b.output(other)
    assert blocks(b.build()) == [["wide"]]


def test_a_block_reads_one_tensor() -> None:
    b = ProgramBuilder("two inputs")
    given = [b.input(name, (1, 2, 10, 10)) for name in ("left", "right")]
    x = b.vector("concat", "joined", given, (1, 4, 10, 10), rows=10, attributes=AlongAxis(1, 4))
    y = b.conv("wide", x, 16, 1)
    gate = b.conv("gate", b.pool("squeeze", y, None, kind="average_pool"), 16, 1)
    b.output(b.elementwise("mul", "excite", [y, gate]))
    assert blocks(b.build()) == [["wide"]]
