"""The least SharedMemory of any plan: by hand, against every set of cascades, against plans of networks."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from math import inf
from random import Random

import pytest

from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program, with_ops
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.least_parts import AliveTensors, ChainParts
from dma.cascade_choice.limited_bound import PRECISION, BudgetedChain
from dma.cascade_choice.made_again import sole_tensors
from dma.cascade_choice.memory_bound import memory_bound
from dma.cascade_choice.straight_chains import straight_chains
from tests.dma.cascade_choice.test_least_memory import needed
from tests.support.cascade_chains import every_set_of_cascades, random_chain, tall_chain
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.recurrent_stacks import HIDDEN, stack
from workloads.build.builder import ProgramBuilder

CHAINS = 24
MOST_SETS = 60
SIDE = 16
IN_PLACE = load_chip("alif-e7", ("weights.in_place=always",))


def test_an_op_alone_has_its_operands_and_a_channel_of_its_weights() -> None:
    builder = ProgramBuilder("dense")
    builder.output(builder.dense("fc", builder.input("x", (1, 100)), 40))
    program = builder.build()
    assert memory_bound(program) == 100 + 40 + program.block_bytes(next(program.ops())) // 40


def test_convolutions_in_a_cascade_hold_the_rows_of_a_window() -> None:
    """Of 16 x 16 images, the last one is whole. The cascade that needs the least has eight bands of two
    columns; between the ops three rows of two columns with a halo of one on either side are held."""
    builder = ProgramBuilder("two")
    x = builder.input("x", (1, 1, SIDE, SIDE))
    middle = builder.conv("first", x, 1, (3, 3), pad=1)
    builder.output(builder.conv("second", middle, 1, (3, 3), pad=1))
    program = builder.build()
    weights = max(map(program.block_bytes, program.ops()))
    whole = SIDE * SIDE
    assert memory_bound(program) == whole + weights + 3 * 4


def without_weights(program: Program) -> Program:
    return replace(program, body=with_ops(program.body, lambda op: replace(op, weights=())))


def test_recurrent_layers_in_turn_have_a_time_step_of_each_and_its_state() -> None:
    """When the last layer runs, the output is whole, the two tensors between the layers have a row each, and
    each layer has a state of three rows."""
    program = without_weights(stack(3, "lstm", steps=20))
    assert memory_bound(program) == memory_bound(program, 2.0) == (20 + 2 + 3 * 3) * HIDDEN


def test_rows_that_may_be_computed_again_are_not_there_together() -> None:
    """Of 400 rows, the output is whole when its op runs. Then there are three rows of the first tensor inside
    and one of the second if both are kept, and the one row that this op reads if they are not. No op has
    more weights than the last one."""
    builder = ProgramBuilder("inverted residual")
    wide = builder.conv("expand", builder.input("x", (1, 4, 400, 1)), 16, (1, 1), bias=False)
    middle = builder.conv("depthwise", wide, 16, (3, 1), pad=(1, 0, 1, 0), groups=16, bias=False)
    builder.output(builder.conv("project", middle, 4, (1, 1), bias=False))
    program = builder.build()
    weights = max(map(program.block_bytes, program.ops()))
    assert memory_bound(program) == weights + 400 * 4 + (3 + 1) * 16
    assert memory_bound(program, inf) == weights + 400 * 4 + 16


def test_rows_that_two_steps_read_are_kept_where_none_may_be_computed_again() -> None:
    """Three rows of the first tensor inside are kept, and a row of the second is made for each step."""
    builder = ProgramBuilder("inverted residual")
    wide = builder.conv("expand", builder.input("x", (1, 4, 400, 1)), 16, (1, 1))
    middle = builder.conv("depthwise", wide, 16, (3, 1), pad=(1, 0, 1, 0))
    builder.output(builder.conv("project", middle, 4, (1, 1)))
    program = builder.build()
    beside = max(map(program.block_bytes, program.ops())) + 400 * 4
    once = memory_bound(program, 1)
    assert beside + 4 * 16 - beside // PRECISION <= once <= beside + 4 * 16
    assert once >= memory_bound(program, 1.3) >= memory_bound(program, 3) > memory_bound(program, inf)


def test_what_a_cascade_reads_is_there_with_what_it_makes_where_neither_end_may_wait() -> None:
    """One of the two tensors of 64 channels would have to be whole for the last op to begin after the first
    one has ended: so input and output, which others need, are there together. Three rows are kept if none is
    computed twice, and the largest weights are 256 B. Without a limit the depthwise op has three rows of 64
    and makes one, with weights of its own, while the input is there."""
    builder = ProgramBuilder("both ends")
    x = builder.conv("start", builder.input("x", (1, 4, 64, 1)), 4, (1, 1), bias=False)
    builder.output(x)
    wide = builder.conv("expand", x, 64, (1, 1), bias=False)
    middle = builder.conv("depthwise", wide, 64, (3, 1), pad=(1, 0, 1, 0), groups=64, bias=False)
    builder.output(builder.conv("project", middle, 4, (1, 1), bias=False))
    program = builder.build()
    least = 2 * 64 * 4 + 3 * 64 + 256
    assert least - least // PRECISION <= memory_bound(program, 1) <= least
    assert memory_bound(program, inf) == 2 * 64 * 4 + 256
    parts = ChainParts(AliveTensors(program, {}), Interval(0, 4), True)
    assert parts.at_first_windows(Interval(1, 4)) == 64 * 4 + (3 + 1) * 64 + 3 * 64


def test_what_a_cascade_reads_has_gone_before_a_window_is_there_where_that_is_less() -> None:
    """All 64 B of the narrow tensor are there with the input and the weights of its op: that is less than the
    buffers of an op that reads or makes a wide tensor, with its weights."""
    builder = ProgramBuilder("narrow")
    x = builder.conv("start", builder.input("x", (1, 4, 32, 1)), 4, (1, 1), bias=False)
    builder.output(x)
    narrow = builder.conv("squeeze", x, 2, (1, 1), bias=False)
    wide = builder.conv("expand", narrow, 64, (1, 1), bias=False)
    middle = builder.conv("depthwise", wide, 64, (3, 1), pad=(1, 0, 1, 0), groups=64, bias=False)
    builder.output(builder.conv("project", middle, 4, (1, 1), bias=False))
    parts = ChainParts(AliveTensors(builder.build(), {}), Interval(0, 5), True)
    assert parts.at_first_windows(Interval(1, 5)) == 32 * 4 + 32 * 2 + 2 * 4
    assert parts.at_first_windows(Interval(1, 3)) == 0


def test_a_skip_over_two_convolutions_holds_the_rows_that_these_delay() -> None:
    """The sum needs row ``n`` of the input when the second convolution has made row ``n``, which needs the
    input's row ``n + 2``: three rows of the tensor that is skipped are there, and as many as a window has of
    the one between. Columns of operands that are added cannot be cut here, as the image has one column."""
    builder = ProgramBuilder("skip")
    start = builder.conv("start", builder.input("x", (1, 4, 32, 1)), 4, (1, 1))
    first = builder.conv("first", start, 4, (3, 1), pad=(1, 0, 1, 0))
    second = builder.conv("second", first, 4, (3, 1), pad=(1, 0, 1, 0))
    builder.output(builder.elementwise("add", "sum", [start, second]))
    program = builder.build()
    weights = max(map(program.block_bytes, program.ops()))
    row = 4
    assert memory_bound(program) == 32 * row + weights + row * (3 + 3 + 1)


def test_what_the_last_op_makes_need_not_be_there_while_the_first_one_reads() -> None:
    """Seed 3220 of the search ``cascades``: the first op makes one row, and ends before the second begins. It
    reads every second row, so that of 40 B of the input 20 B come in a stripe."""
    builder = ProgramBuilder("one row")
    row = builder.pool("pool", builder.input("x", (1, 5, 2, 4)), (1, 1), stride=(2, 1))
    builder.output(row)
    builder.output(builder.elementwise("relu", "last", [row]))
    assert memory_bound(builder.build()) == 20 + 20


def widened(channels: int) -> Program:
    """A convolution to so many channels and one to four of what is an output itself: 32 rows of 4 B each."""
    builder = ProgramBuilder("rows")
    x = builder.conv("start", builder.input("x", (1, 4, 32, 1)), 4, (1, 1))
    builder.output(x)
    wide = builder.conv("expand", x, channels, (1, 1))
    builder.output(builder.conv("project", wide, 4, (1, 1)))
    return builder.build()


def test_what_a_cascade_reads_is_there_with_what_it_makes_or_with_all_that_is_between() -> None:
    """With one column there are no bands. A row of the wide tensor is held; all of it is more."""
    for channels in (16, 64):
        program = widened(channels)
        weights = max(map(program.block_bytes, program.ops()))
        assert memory_bound(program) == 2 * 32 * 4 + channels + weights


def test_what_is_between_may_be_whole_where_that_is_less() -> None:
    """A tensor of two channels has 64 B, and what the cascade makes 128. The first op has weights as well."""
    program = widened(2)
    assert memory_bound(program) == 32 * 4 + 32 * 2 + program.block_bytes(list(program.ops())[1])


@pytest.mark.parametrize(("channels", "stride", "between"), [((8, 2, 4), 1, 32 * 2), ((2, 4), 2, 31 * 2)])
def test_rows_between_are_those_that_are_still_needed(
    channels: tuple[int, ...], stride: int, between: int
) -> None:
    """The first of two tensors has gone when the second one is whole; every second row ends with the last but
    one of the image."""
    builder = ProgramBuilder("between")
    x = builder.conv("start", builder.input("x", (1, 4, 32, 1)), 4, (1, 1), bias=False)
    builder.output(x)
    for number, each in enumerate(channels):
        x = builder.conv(
            f"conv{number}", x, each, (1, 1), stride=stride if each == channels[-1] else 1, bias=False
        )
    builder.output(x)
    ops = 1 + len(channels)
    parts = ChainParts(AliveTensors(builder.build(), {}), Interval(0, ops), False)
    assert parts.at_last_rows(Interval(1, ops)) == 32 * 4 + between + 4 * channels[0]


def test_what_leaves_a_cascade_on_the_way_is_there_with_what_it_reads() -> None:
    """The output between two wide tensors is another op's input, so that it is whole from its first row on.
    Pooling in the end makes a single row."""
    builder = ProgramBuilder("on the way")
    x = builder.conv("start", builder.input("x", (1, 4, 32, 1)), 4, (1, 1), bias=False)
    builder.output(x)
    middle = builder.conv("project", builder.conv("expand", x, 64, (1, 1), bias=False), 4, (1, 1), bias=False)
    builder.output(middle)
    wide = builder.conv("widen", middle, 64, (1, 1), bias=False)
    builder.output(builder.pool("pool", wide, None, kind="average_pool"))
    parts = ChainParts(AliveTensors(builder.build(), {}), Interval(0, 5), False)
    assert parts.at_last_rows(Interval(1, 5)) == 2 * 32 * 4 + 64 + 4 * 64
    again = ChainParts(parts.alive, Interval(0, 5), True)
    assert again.at_last_rows(Interval(1, 5)) == 2 * 32 * 4 + 4 * 64
    assert again.at_first_windows(Interval(1, 5)) == 0


@pytest.mark.parametrize(
    "seed", [n if n % 3 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in range(CHAINS)]
)
def test_no_cascade_is_planned_in_less_than_its_last_row_needs(seed: int) -> None:
    random = Random(f"last row {seed}")
    program = reuse(tall_chain(random), random.choice(("all", "none")))
    chain = next(straight_chains(program.body))
    parts = ChainParts(AliveTensors(program, {}), chain, False)
    for stop in range(2, len(parts.ops) + 1):
        for start in range(stop - 1):
            names = tuple(op.name for op in parts.ops[start:stop])
            heights = tuple(random.choice((1, 1, 2, 4, 30)) for _ in names)
            choice = CascadeChoice(names, heights, random.random() < 0.8)
            least = parts.at_last_rows(Interval(chain.start + start, chain.start + stop))
            with suppress(ValueError, DoesNotFit):
                cascaded = with_cascades(program, [choice])
                chip = with_memory(LUNA_LIKE, least - 1, alignment=1)
                planned = plan_in_rounds(
                    PlanRequest(program, chip, "exact", "sync", spill=False), None, cascaded
                )
                assert planned.solved.peak >= least or planned.schedule.moves_tensors, choice


def test_the_last_of_several_bands_finds_all_that_is_read_and_made() -> None:
    """Three rows of 64 channels are held, in eight bands of two columns with a halo of one on either side."""
    builder = ProgramBuilder("bands")
    x = builder.elementwise("relu", "start", [builder.input("x", (1, 1, SIDE, SIDE))])
    builder.output(x)
    wide = builder.conv("expand", x, 64, (1, 1), bias=False)
    builder.output(builder.conv("project", wide, 1, (3, 3), pad=1, bias=False))
    program = builder.build()
    weights = max(map(program.block_bytes, program.ops()))
    assert memory_bound(program) == 2 * SIDE * SIDE + 3 * 4 * 64 + weights


def test_a_tensor_made_again_has_a_buffer_of_its_largest_window_at_each_step() -> None:
    """The last of three rows of a window comes with a row of what it is made of, whatever row it is: also
    those at the image's edges, which need two. The depthwise op has three rows and makes one."""
    builder = ProgramBuilder("largest window")
    wide = builder.conv("expand", builder.input("x", (1, 4, 3, 1)), 64, (1, 1), bias=False)
    middle = builder.conv("depthwise", wide, 64, (3, 1), pad=(1, 0, 1, 0), groups=64, bias=False)
    builder.output(builder.conv("project", middle, 1, (1, 1), bias=False))
    program = without_weights(builder.build())
    parts = ChainParts(AliveTensors(program, {}), Interval(0, 3), True)
    assert dict(parts.cascades(3))[0][1] == 3 * 64 + 64
    assert memory_bound(program, 1) == memory_bound(program, inf) == 3 * 64 + 64


def test_there_are_no_bands_if_others_need_what_an_inner_op_makes() -> None:
    builder = ProgramBuilder("inner")
    x = builder.conv("first", builder.input("x", (1, 1, SIDE, SIDE)), 4, (3, 3), pad=1)
    builder.output(x)
    x = builder.conv("second", x, 4, (3, 3), pad=1)
    builder.output(builder.conv("third", x, 4, (3, 3), pad=1))
    parts = ChainParts(AliveTensors(builder.build(), {}), Interval(0, 3), True)
    assert [(start, set(sizes)) for start, sizes in parts.cascades(3)] == [(1, {1, SIDE}), (0, {1})]
    banded = [end for end in BudgetedChain(parts).ends if end.bands > 1]
    assert {op.index for end in banded if end.stop == 3 for op in end.before} == {1}


def test_rows_of_an_input_are_not_there_with_weights_that_another_op_loads_again() -> None:
    """In four bands the pooling op reads 384 B. The largest weights, of 608 B, come for their own op's steps:
    beside them are three rows of three columns, a row of one column and the output, but none of the input."""
    builder = ProgramBuilder("in turn")
    pooled = builder.pool("pool", builder.input("x", (1, 8, 12, 64)), (1, 16), stride=(1, 16))
    wide = builder.conv("conv", pooled, 8, (3, 3), pad=1)
    builder.output(builder.conv("last", wide, 1, (1, 1)))
    program = builder.build()
    choice = CascadeChoice(("pool", "conv", "last"), (1, 1, 1), True, ("conv", "last"), 4)
    request = PlanRequest(program, with_memory(LUNA_LIKE, 1279, alignment=1), "exact", "sync", spill=False)
    planned = plan_in_rounds(request, None, with_cascades(program, [choice]))
    assert not planned.schedule.moves_tensors
    assert memory_bound(program) == 608 + 3 * 3 * 8 + 8 + 12 * 4 == planned.solved.peak
    assert memory_bound(program, 1) == memory_bound(program, inf) == 608 + 3 * 8 + 8 + 12 * 4


@pytest.mark.parametrize("channels", [1, 16])
def test_rows_made_again_are_there_with_the_weights_of_their_reader(channels: int) -> None:
    """In bands of one column the depthwise op reads three rows of three columns and makes one, with its
    576 B of weights; those of the last op are fewer, or more than the op's own."""
    builder = ProgramBuilder("reader")
    x = builder.elementwise("relu", "start", [builder.input("x", (1, 1, SIDE, SIDE))])
    builder.output(x)
    wide = builder.conv("expand", x, 64, (1, 1), bias=False)
    middle = builder.conv("depthwise", wide, 64, (3, 3), pad=1, groups=64, bias=False)
    builder.output(builder.conv("project", middle, channels, (1, 1), bias=False))
    least = (1 + channels) * SIDE * SIDE + 576 + (3 * 3 + 1) * 64
    assert least - least // PRECISION - 4 <= memory_bound(builder.build(), 9) <= least


def pooling(channels: int, after: int) -> Program:
    """A wide convolution of 8 x 2 images, pooling over all of it, and dense layers without biases."""
    builder = ProgramBuilder("pooling")
    x = builder.conv("conv", builder.input("x", (1, 2, 8, 2)), channels, (1, 1), bias=False)
    x = builder.pool("pool", x, None, kind="average_pool")
    for number in range(after):
        x = builder.conv(f"dense{number}", x, channels, (1, 1), bias=False)
    builder.output(x)
    return builder.build()


def test_pooling_over_an_image_holds_a_row_and_sums_of_32_bits() -> None:
    """A row of two columns, the sums, and a row of the input; the output is made when the input has gone."""
    assert memory_bound(pooling(40, 0)) == 2 * 40 + 4 * 40 + 2 * 2 + 40 * 2


def test_a_layer_after_pooling_finds_nothing_of_what_was_before() -> None:
    """One channel of the weights is with two vectors: less than what pooling needs."""
    assert memory_bound(pooling(40, 2)) == memory_bound(pooling(40, 0))


def test_an_input_is_not_there_between_the_ops_that_read_it() -> None:
    """Seed 335 of the search ``cascades``: it is loaded again. Of a dense layer one column of weights and its
    bias are there at least."""
    builder = ProgramBuilder("read twice")
    x = builder.input("x", (1, 100))
    wide = builder.dense("wide", builder.elementwise("relu", "first", [x]), 400)
    narrow = builder.dense("narrow", wide, 100)
    builder.output(builder.elementwise("add", "sum", [narrow, x]))
    assert memory_bound(builder.build()) == 400 + 100 + 400 + 4


def test_an_input_that_is_an_output_as_well_may_come_in_stripes() -> None:
    """Seed 713 of the search ``cascades``: it is in Psram already, so that it never needs to be whole."""
    builder = ProgramBuilder("passed through")
    x = builder.input("x", (1, 1, SIDE, SIDE))
    inner = builder.elementwise("relu", "inner", [x])
    builder.output(builder.conv("last", inner, 1, (1, 1)))
    program = builder.build()
    passed = replace(program, outputs=(*program.outputs, "x"))
    assert memory_bound(passed) == memory_bound(program) < 2 * SIDE * SIDE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CHAINS))
def test_no_set_of_cascades_needs_less(seed: int) -> None:
    random = Random(seed)
    program = reuse(random_chain(random), random.choice(("all", "none")))
    bound = memory_bound(program)
    assert 0 < bound <= needed(program)
    for choices in _some_sets(program, random):
        try:
            cascaded = with_cascades(program, choices)
        except ValueError:
            continue
        assert bound <= needed(cascaded), choices


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CHAINS))
def test_no_set_in_narrow_bands_that_computes_rows_again_needs_less(seed: int) -> None:
    random = Random(f"narrow {seed}")
    program = reuse(random_chain(random), random.choice(("all", "none")))
    bound = memory_bound(program, inf)
    assert bound <= memory_bound(program)
    for choices in _some_sets(program, random):
        narrow = tuple(replace(each, bands=random.randint(2, 16)) for each in choices)
        for each in (choices, narrow):
            with suppress(ValueError):
                again = tuple(_again(program, choice, random) for choice in each)
                assert bound <= needed(with_cascades(program, again)), again


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(CHAINS), 1495])
def test_no_set_needs_less_within_the_macs_that_it_computes(seed: int) -> None:
    random = Random(f"limited {seed}")
    program = reuse(tall_chain(random), random.choice(("all", "none")))
    program = with_weights_in_place(program, IN_PLACE, [op.name for op in program.ops()])
    for choices in _limited_sets(program, random):
        with suppress(ValueError):
            cascaded = with_cascades(program, choices)
            times = Fraction(computed(cascaded), computed(program))
            assert memory_bound(program, times) <= needed(cascaded), choices
    limit = random.choice((1, 1.1, 1.3, 2))
    bound = memory_bound(program, limit)
    for choices in least_memory_candidates(program, IN_PLACE, limit):
        assert bound <= needed(with_cascades(program, choices)), choices


@pytest.mark.parametrize(
    "seed", [n if n % 6 == 0 else pytest.param(n, marks=pytest.mark.slow) for n in range(2 * CHAINS)]
)
def test_no_plan_of_a_cascade_uses_less(seed: int) -> None:
    """The exact packer finds plans that use less than the cascade's buffers together, as an op may end before
    a later one begins. What is counted of a cascade in bands is there in any case."""
    random = Random(f"exact {seed}")
    program = tall_chain(random)
    parts = ChainParts(AliveTensors(program, {}), next(straight_chains(program.body)), True)
    names = [op.name for op in parts.ops]
    for choices in _limited_sets(program, random):
        with suppress(ValueError, DoesNotFit):
            cascaded = with_cascades(program, choices)
            chip = with_memory(LUNA_LIKE, needed(cascaded), alignment=1)
            request = PlanRequest(cascaded, chip, "exact", "sync", spill=False)
            peak = plan_in_rounds(request, None, cascaded).solved.peak
            assert memory_bound(program, Fraction(computed(cascaded), computed(program))) <= peak, choices
            for each in choices:
                ops = Interval(names.index(each.ops[0]), names.index(each.ops[-1]) + 1)
                sizes = dict(parts.cascades(ops.stop))[ops.start]
                banded = (size for bands, size in sizes.items() if bands > 1)
                first, last = parts.at_first_windows(ops), parts.at_last_rows(ops)
                assert peak >= (min(banded) if each.bands > 1 else max(first, last)), choices


def _limited_sets(program: Program, random: Random) -> Iterator[tuple[CascadeChoice, ...]]:
    """Sets of cascades in steps and bands of any size, with tensors made again."""
    ops = list(program.ops())
    for _ in range(4):
        cuts = [0, *(at for at in range(1, len(ops)) if random.random() < 0.3), len(ops)]
        parts = [ops[start:stop] for start, stop in pairwise(cuts) if stop - start > 1]
        heights = [tuple(random.choice((1, 1, 1, 2, 3, 4, 8, 30)) for _ in part) for part in parts]
        bands = [random.choice((1, 1, 2, 3, 4, 6, 10)) for _ in parts]
        yield tuple(
            _again(program, CascadeChoice(tuple(op.name for op in part), rows, True, (), count), random)
            for part, rows, count in zip(parts, heights, bands, strict=True)
        )


def _again(program: Program, choice: CascadeChoice, random: Random) -> CascadeChoice:
    tensors = sole_tensors([op for op in program.ops() if op.name in choice.ops])
    return replace(choice, again=tuple(name for name in tensors if random.random() < 0.6))


def _some_sets(program: Program, random: Random) -> Iterator[tuple[CascadeChoice, ...]]:
    """Sets of cascades, each in rows alone, in bands, and with weights that are loaded again."""
    sets = list(islice(every_set_of_cascades(program), 50 * MOST_SETS))
    for choices in random.sample(sets, min(len(sets), MOST_SETS)):
        yield choices
        yield tuple(replace(each, bands=random.choice((2, 3, 4))) for each in choices)
        yield tuple(
            replace(each, reloaded=tuple(name for name in each.ops if random.random() < 0.6))
            for each in choices
        )
