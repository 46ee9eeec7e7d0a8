"""Random stacks of recurrent layers as cascades, a few time steps of each layer in turn, checked as those of
the search ``cascades``.

Before, between and after the layers are ops of each time step, convolutions over several, and what takes only
the last one. Weights may be loaded again or read in place, tensors made again; some layers run backwards.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.hardware.chip import InPlaceReading
from chipmodel.model.attributes import AxisOrder, SliceRanges
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Recurrent
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import CHOICES, reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.columns.made_again import sole_tensors
from tests.fuzz import cascades
from tests.support.chips import tiny_chip
from tests.support.random_images import DTYPES
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

COUNT = 5_000
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
BACKWARDS = 0.05
"""How many layers run backwards, which no cascade may have."""


def recurrent_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """A stack of layers, a cascade in it, and what to plan it on and with."""
    random = Random(f"recurrent {seed}")
    builder = ProgramBuilder(f"recurrent {seed}", dtype=random.choice(DTYPES))
    x = builder.input("x", (random.randint(2, 12), random.choice((1, 1, 2)), random.randint(1, 6)))
    for number in range(random.randint(1, 3)):
        x = _between(builder, x, f"before{number}", random)
        x = _layer(builder, x, f"layer{number}", random)
    x = _last(builder, x, random)
    builder.output(x)
    program = reuse(builder.build(), random.choice(CHOICES))
    chip = cascades.with_memory(tiny_chip(random), program, random.choice((0.3, 0.6, 1.0, 1.5)))
    if random.random() < 0.4:
        rate, latency = Fraction(random.choice((1, 8, 64)), random.choice((1, 4))), random.choice((0, 3, 40))
        chip = replace(chip, in_place=InPlaceReading("always", rate, latency))
        program = with_weights_in_place(program, chip)
    ops = list(program.ops())
    first = random.randint(0, min(1, len(ops) - 1))
    ops = ops[first : random.randint(min(first + 2, len(ops)), len(ops))]
    found = [each for each in _choices(ops, random) if cascades.possible(program, ops, each)][:1]
    packer, streamer = random.choice(cascades.PACKERS), random.choice(cascades.QUICK)
    request = PlanRequest(program, chip, packer, streamer, spill=random.random() < 0.5, cascade="auto")
    return program, tuple(found), request


def _choices(ops: Sequence[Op], random: Random) -> list[CascadeChoice]:
    """Cascades of all of ``ops``, the first of which may be impossible."""
    names = tuple(op.name for op in ops)
    heights = tuple(random.choice((1, 1, 2, 3, 100)) for _ in names)
    plain = CascadeChoice(names, heights, random.random() < 0.7)
    again = tuple(name for name in sole_tensors(ops) if random.random() < 0.3)
    reloaded = names if random.random() < 0.3 else ()
    return [replace(plain, reloaded=reloaded, again=again), replace(plain, reloaded=reloaded), plain]


def _layer(builder: ProgramBuilder, x: Value, name: str, random: Random) -> Value:
    """A recurrent layer over (steps, batch, features), with or without an initial state."""
    steps, batch, inputs = x.shape
    kind, hidden = random.choice(tuple(GATES)), random.randint(1, 6)
    gates, backward = GATES[kind], random.random() < BACKWARDS
    work = Recurrent(steps, inputs, hidden, gates, 1, batch, backward=backward)
    weights = [builder.weight(f"{name}.weight", gates * hidden * (inputs + hidden), builder.dtype)]
    given = [x]
    if random.random() < 0.2:
        given.append(builder.input(f"{name}.before", (1, batch, hidden)))
    shape = (steps, 1, batch, hidden)
    made = builder.emit(kind, name, work, given, [shape], weights=weights)[0]
    return builder.reshape(made, (steps, batch, hidden))


def _between(builder: ProgramBuilder, x: Value, name: str, random: Random) -> Value:
    """What takes each time step, or a few of them, or nothing."""
    match random.choice(("nothing", "nothing", "dense", "tanh", "conv")):
        case "dense":
            return builder.dense(name, x, random.randint(1, 6))
        case "tanh":
            return builder.elementwise("tanh", name, [x])
        case "conv" if x.shape[1] == 1:
            image = _turned(builder, f"{name}.image", x, (1, x.shape[2], x.shape[0], 1))
            kernel = random.choice((2, 3))
            y = builder.conv(name, image, random.randint(1, 6), (kernel, 1), pad=(kernel - 1, 0, 0, 0))
            return _turned(builder, f"{name}.steps", y, (y.shape[2], 1, y.shape[1]))
        case _:
            return x


def _turned(builder: ProgramBuilder, name: str, x: Value, shape: Sequence[int]) -> Value:
    """Time steps as rows of an image, or back: the bytes lie as they did."""
    if len(shape) == 4:
        steps, batch, features = x.shape
        x = builder.reshape(x, (1, batch, steps, features))
        return builder.vector("transpose", name, [x], shape, rows=steps, attributes=AxisOrder((0, 3, 2, 1)))
    made = (x.shape[0], x.shape[3], x.shape[2], x.shape[1])
    order = AxisOrder((0, 3, 2, 1))
    turned = builder.vector("transpose", name, [x], made, rows=x.shape[2], attributes=order)
    return builder.reshape(turned, shape)


def _last(builder: ProgramBuilder, x: Value, random: Random) -> Value:
    """What takes each time step, or the last one alone."""
    if random.random() < 0.4:
        ranges = SliceRanges((x.shape[0] - 1, 0, 0), (1, 1, 1))
        x = builder.vector("slice", "last", [x], (1, *x.shape[1:]), rows=1, attributes=ranges)
    return builder.dense("scores", x, random.randint(1, 4)) if random.random() < 0.7 else x


check = partial(cascades.check, case=recurrent_case)
"""Plan and run the stack of that seed. Raises Fault where something does not hold."""
