"""Random problems without constraints, and those of the zoo, for the tests of all heuristics."""

from functools import cache
from random import Random

from hypothesis import strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.plan import Buffer, Problem
from chipmodel.passes.liveness import liveness
from dma.stream import stream
from tests.support.random_buffers import random_buffers
from workloads.zoo import build, networks


def any_problem(seed: int) -> Problem:
    """From a few buffers to a hundred, crowded or sparse; alignments, holes and empty lives with some."""
    random = Random(seed)
    return random_buffers(
        seed,
        random.choice((0, 1, 2, 5, 10, 20, 40, 100)),
        horizon=random.choice((1, 5, 30, 1000)),
        longest=random.choice((1, 4, 12)),
        parts=random.choice((1, 1, 1, 3)),
        alignments=random.choice(((1,), (1,), (16,), (1, 4, 6))),
    )


@st.composite
def simple_problems(draw: st.DrawFn) -> Problem:
    """Up to ten buffers of one interval each, alignment 1: what the guarantees are stated for."""
    count = draw(st.integers(0, 10))
    buffers: list[Buffer] = []
    for index in range(count):
        start, length, size = draw(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(1, 12)))
        buffers.append(Buffer(str(index), size, (Interval(start, start + length),)))
    return Problem(tuple(buffers))


@st.composite
def odd_problems(draw: st.DrawFn) -> Problem:
    """Up to nine buffers with holes in their lives, alignments, and no bytes now and then."""
    buffers: list[Buffer] = []
    spans = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=3)
    for index in range(draw(st.integers(0, 9))):
        live = tuple(Interval(s, s + n) for s, n in draw(spans))
        size, alignment = draw(st.integers(0, 12)), draw(st.sampled_from((1, 2, 6, 8)))
        buffers.append(Buffer(str(index), size, live, alignment))
    return Problem(tuple(buffers))


@cache
def zoo_problems() -> dict[str, Problem]:
    """By network without control flow, what the packer is first asked when it runs on a LUNA ARCS; without
    the capacity. VGG-16 and AlexNet are chains of tensors, as others are, and take long to cut."""
    chip = load_chip("luna-arcs", ())
    size = chip.shared_memory.bytes
    schedules = {
        n.name: stream(build(n.name), chip, "ping-pong", size)
        for n in networks("classic")
        if n.name not in ("vgg16", "alexnet")
    }
    return {name: Problem(liveness(schedule, chip).buffers) for name, schedule in schedules.items()}


def naive_sum(problem: Problem) -> int:
    """What ``naive`` needs, alignment aside."""
    return sum(b.bytes for b in problem.buffers)
