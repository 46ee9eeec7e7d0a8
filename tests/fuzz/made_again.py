"""Random cascades, checked as those of ``cascades``, with tensors made again for each step that reads them.

Half of the cases are those of the search ``cascades``, in bands of columns, through pooling and with weights
that are loaded again, too; half are chains of convolutions, some of which skip a few ops, whose rows overlap.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from dma.columns.made_again import sole_tensors
from tests.fuzz import cascades
from tests.support.chips import tiny_chip
from workloads.build.builder import ProgramBuilder

COUNT = 5_000
CASES = (cascades.random_case, cascades.pooled_case, None, None)
"""Whose cases are taken in turn; None: chains of convolutions."""


def made_again_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """A case of the search ``cascades`` with rolling buffers, some tensors made again; none without any."""
    random = Random(f"made again {seed}")
    program, choices, request = (CASES[seed % len(CASES)] or chain_case)(seed)
    found = tuple(_choice(program, each, random) for each in choices)
    return program, tuple(found) if any(each.again for each in found) else (), request


def chain_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade of convolutions whose windows overlap, with ops that read what came a few ops before."""
    random = Random(f"chain {seed}")
    builder = ProgramBuilder(f"chain {seed}")
    channels, side = random.randint(1, 3), random.randint(5, 14)
    x = builder.input("x", (1, channels, side, random.choice((1, 3, side))))
    names, before = list[str](), [x]
    for number in range(random.randint(2, 6)):
        kernel, stride = random.choice((1, 3, 3, 5)), random.choice((1, 1, 1, 2))
        alike = [each for each in before if each.shape == x.shape and each is not x]
        names.append(f"op{number}")
        if number and alike and random.random() < 0.4:
            x = builder.elementwise("add", names[-1], [x, random.choice(alike)])
        else:
            width = random.choice((channels, channels, 2 * channels))
            x = builder.conv(names[-1], x, width, kernel, stride=stride, pad=kernel // 2)
        before.append(x)
    builder.output(x)
    program = builder.build()
    bands, reloaded = random.choice((1, 1, 2)), tuple(names) if random.random() < 0.2 else ()
    heights = tuple(random.choice((1, 1, 1, 2, 3)) for _ in names)
    choice = CascadeChoice(tuple(names), heights, True, reloaded, bands)
    plain = CascadeChoice(tuple(names), heights)
    ops = list(program.ops())
    found = [each for each in (choice, plain) if cascades.possible(program, ops, each)][:1]
    chip = cascades.with_memory(tiny_chip(random), program, random.choice((0.3, 0.6, 1.0)))
    packer, streamer = random.choice(cascades.PACKERS), random.choice(cascades.QUICK)
    return program, tuple(found), PlanRequest(program, chip, packer, streamer, cascade="auto")


def _choice(program: Program, given: CascadeChoice, random: Random) -> CascadeChoice:
    """``given`` with rolling buffers and random tensors made again, if it can be."""
    choice = replace(given, rolls=True)
    ops = [op for op in program.ops() if op.name in choice.ops]
    share = random.choice((0.3, 0.7, 1.0))
    again: tuple[str, ...] = ()
    for name in sole_tensors(ops):
        more = replace(choice, again=(*again, name))
        if random.random() < share and cascades.possible(program, ops, more):
            again = more.again
    return replace(choice, again=again) if again else given


def check(seed: int) -> Counter[str]:
    """Plan and run the network of that seed. Raises Fault where something does not hold."""
    program, choices, _ = made_again_case(seed)
    seen = cascades.check(seed, made_again_case)
    if seen["planned"]:
        seen.update(_repeats(program, choices))
    return seen


def _repeats(program: Program, choices: Sequence[CascadeChoice]) -> Iterator[str]:
    for choice in choices:
        op = cascade_op(program, [op for op in program.ops() if op.name in choice.ops], choice)
        yield "again" if choice.again else "kept"
        if choice.again and cascade_macs(op) > op.work.macs:
            yield "more_macs"
