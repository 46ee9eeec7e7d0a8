"""The examples that the source documents answer themselves, and shapes made for their figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.program import Program, ops
from chipmodel.passes.liveness import liveness
from dma.stream import stream
from workloads.build.builder import ProgramBuilder

FIGURE_4 = {"a": "", "b": "a", "c": "a", "d": "c", "e": "bd"}
"""The ops of the free-list patent's figure 4 (paragraph 68), each with those that it reads."""
SIX_OPS = {"a": "", "b": "a", "c": "a", "d": "c", "e": "bd", "f": "e"}
SIX_SIZES = (2048, 2048, 1024, 2048, 1024, 4096)
"""Those of its example of the free list (paragraphs 105 to 109), with bytes."""


def lifetimes(reads: Mapping[str, str]) -> list[Interval]:
    """Return how long the output of each op lives, by the product's own liveness."""
    net, chip = ProgramBuilder("example"), load_chip("luna-csk6")
    values = {"": net.input("input", (1, 16))}
    for name, read in reads.items():
        kind = "add" if len(read) > 1 else "relu"
        values[name] = net.elementwise(kind, name, [values[each] for each in read or ("",)])
    net.output(values[max(reads)])
    schedule = stream(net.build(), chip, "sync", chip.shared_memory.bytes)
    live = {buffer.name: buffer.live[0] for buffer in liveness(schedule, chip).buffers}
    return [live[name] for name in reads]


def free_list_example() -> Problem:
    """Return the free-list patent's six buffers, which end in an arena of 5,120 B."""
    live = zip(SIX_OPS, SIX_SIZES, lifetimes(SIX_OPS), strict=True)
    return Problem(tuple(Buffer(name, size, (life,)) for name, size, life in live))


def feature_maps(program: Program) -> Problem:
    """Return the outputs of all ops but the last, which are no feature maps: an op's output lives until its
    last reader is done (Wang et al. 2025, eq. 1). The network's input is the caller's; activations are in
    place, so that the zoo's networks have none of their own."""
    steps = list(ops(program.body))
    born = {name: at for at, op in enumerate(steps) for name in op.outputs}
    dies = dict(born)
    for at, op in enumerate(steps):
        dies |= {name: at for name in op.inputs if name in born}
    kept = [name for name in born if name not in program.outputs]
    return Problem(
        tuple(Buffer(n, program.tensors[n].bytes, (Interval(born[n], dies[n] + 1),)) for n in kept)
    )


def made_for_fusion_detect() -> tuple[Problem, Section]:
    """Return two arms, made so that FusionDetect's figures in Tables 1 and 2 of Wang et al. 2025 come out in
    all three orders.

    The network's input lies in Psram, so nothing lives through the ``if`` but what it produces: 28,800 B,
    which is what Algorithm 2 saves in each order.
    """
    sizes = (
        ("face", 8, (1, 3)),
        ("face.down", 4, (2, 4)),
        ("result", 1, (3, 4), (9, 11)),
        ("body", 4, (4, 7)),
        ("body.aside", 1, (5, 6)),
        ("body.up", 8, (6, 8)),
        ("body.last", 8, (7, 9)),
    )
    return _made(28_800, sizes), _two_arms(4, 10)


def made_for_denoise() -> tuple[Problem, Section]:
    """Return the same for denoise: its result has 1,536 B. Of Table 2's 98,340 B come 98,304, which is as far
    below 99,840 as the other two figures are below theirs."""
    sizes = (
        ("speech", 50, (1, 2)),
        ("result", 3, (2, 3), (7, 9)),
        ("silence.a", 49, (3, 6)),
        ("silence.b", 35, (4, 6)),
        ("silence.c", 49, (5, 7)),
        ("silence.d", 143, (6, 8)),
    )
    return _made(512, sizes), _two_arms(3, 8)


def made_for_face_align() -> tuple[Problem, Section]:
    """Return three tensors in a row, of which the first one is in the way in two of the orders: FaceAlign's
    figures in Table 1 of Wang et al. 2025. Its largest maps have 9,216 and 36,864 B."""
    sizes = ("landmarks", 49, (0, 2)), ("image", 768, (1, 4)), ("conv1", 3072, (2, 5))
    return _made(12, sizes), Section(Interval(0, 5))


def made_for_face_detect() -> tuple[Problem, Section]:
    """Return the same for FaceDetect, where it is in the way in one: an image of 307,200 B and a map of
    102,400."""
    sizes = ("before", 3, (0, 3)), ("conv1", 10, (2, 4)), ("image", 30, (3, 6))
    return _made(10_240, sizes), Section(Interval(0, 6))


def _made(unit: int, sizes: Iterable[tuple[str, int, *tuple[tuple[int, int], ...]]]) -> Problem:
    buffers = (Buffer(name, n * unit, tuple(Interval(*each) for each in live)) for name, n, *live in sizes)
    return Problem(tuple(buffers))


def _two_arms(first: int, second: int) -> Section:
    """A graph with one ``if``, from position 1 on, whose arms end at these positions."""
    arms = Section(Interval(1, first)), Section(Interval(first, second))
    return Section(Interval(0, second + 2), (Fork("if", Interval(1, second), arms),))
