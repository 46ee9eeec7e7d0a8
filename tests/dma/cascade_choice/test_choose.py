"""Proposed cascades of built-in networks: possible, within the memory, and only where they are of use."""

from functools import cache

import pytest

from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.core_parts import split
from chipmodel.model.program import Op, Program
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.cascade_choice.choose import proposed_cascades
from dma.cascade_choice.segmented_chains import Candidate
from dma.residency.greedy import decide
from dma.schedule.expected_forecast import ScheduleForecast
from dma.stream import stream
from tests.support.chips import DATASHEET_RATES, with_memory
from workloads.build.builder import ProgramBuilder
from workloads.load import load

KIB = 1024


@cache
def _program(name: str) -> Program:
    return reuse(load(name), "all")


def _candidates(
    name: str, chip: str, capacity: int, rolls: bool | None = None, settings: tuple[str, ...] = ()
) -> tuple[Candidate, ...]:
    return proposed_cascades(_program(name), load_chip(chip, settings), capacity, rolls).rows


ARRAY = ("npu.model=array",)
"""Stripes compute no faster than whole ops: on Ethos-U55 they may, by blocks of another shape."""


def _fits(program: Program, capacity: int) -> bool:
    """Whether no tensor leaves SharedMemory but the input, next to the rows and weights of cascades."""

    def own(op: Op) -> int:
        return op.work.workspace + program.block_bytes(op) if isinstance(op.work, CascadeWork) else 0

    try:
        decide(program, capacity, own, spill=False)
    except DoesNotFit:
        return False
    return True


@pytest.mark.parametrize("rolls", [True, False])
def test_mobilenet_v2_fits_a_fourth_of_its_largest_layer(rolls: bool) -> None:
    """Layer by layer the first depthwise convolution needs 1.5 MB: its input has 1,204,224 B and its output
    301,056 B. The candidates for 353.5 KiB need no more than that."""
    program = _program("zoo:mobilenetv2")
    largest = 1_204_224 + 301_056
    assert _fits(program, largest)
    assert not _fits(program, largest - 1)
    candidates = _candidates("zoo:mobilenetv2", "alif-e7", 353 * KIB, rolls, ARRAY)
    assert len(candidates) > 3
    assert all(_fits(with_cascades(program, each), 353 * KIB) for each in candidates)
    assert len(set(candidates)) == len(candidates)


def test_nothing_is_proposed_where_everything_fits() -> None:
    assert _candidates("zoo:mobilenetv1_025", "alif-e7", 4096 * KIB, settings=ARRAY) == ()
    assert _candidates("zoo:resnet8", "alif-e7", 1024 * KIB, settings=ARRAY) == ()


@pytest.mark.slow
def test_ops_in_arms_run_as_cascades_too() -> None:
    program = _program("zoo:fusiondetect")
    outer = {op.name for op in program.body if isinstance(op, Op)}
    names = {
        op for each in _candidates("zoo:fusiondetect", "luna-arcs", 256 * KIB) for c in each for op in c.ops
    }
    assert names - outer


@pytest.mark.slow
def test_tensors_at_the_border_of_a_cascade_may_be_in_psram() -> None:
    """With 176 KiB none of the three ops from 12.expand on fits; as a cascade they fit next to their weights
    where 12.add, the input, or 12.project, the output, passes in stripes."""
    program, capacity = _program("zoo:mobilenetv2"), 176 * KIB
    chip = with_memory(load_chip("alif-e7"), capacity)
    first = proposed_cascades(program, chip, capacity).rows[0]
    assert ("features.12.expand", "features.12.depthwise", "features.12.project") in [c.ops for c in first]
    cascaded = with_cascades(program, first)
    assert not _fits(cascaded, capacity)
    cycles = [
        ScheduleForecast(each, chip).cycles(stream(each, chip, "prefetch-greedy", capacity))
        for each in (program, cascaded)
    ]
    assert cycles[1] < 0.4 * cycles[0]


@pytest.mark.parametrize(
    ("name", "chip", "capacity"),
    [("zoo:resnet8", "stm32n6", 12_480), ("zoo:blazeface", "alif-e7", 73_888)],
)
def test_every_proposed_set_has_a_schedule(name: str, chip: str, capacity: int) -> None:
    """In so little memory cascades that almost fit used to be proposed, and no set could be planned."""
    rates = DATASHEET_RATES if chip == "stm32n6" else ()
    program, small = _program(name), with_memory(load_chip(chip, rates), capacity)
    candidates = proposed_cascades(program, small, capacity).rows
    assert candidates
    for each in candidates:
        assert stream(with_cascades(program, each), small, "sync", capacity).cascades


def test_attention_is_proposed_in_blocks_of_queries() -> None:
    """Scores and shares of 512 tokens and four heads take 2 MiB. Turned queries, which are made as a whole,
    are read row by row all the same."""
    first = _candidates("workloads/transformer_block.yaml", "alif-e7", 512 * KIB)[0]
    assert [(each.ops, each.heights) for each in first] == [(("scores", "shares", "mixed"), (128, 128, 128))]


def test_an_op_that_fits_in_a_cascade_only_is_proposed_in_one() -> None:
    """A dense layer that reads its weights in place needs all 4,000 B of its input, in a cascade a row."""
    builder = ProgramBuilder("flat")
    x = builder.conv("conv", builder.input("x", (1, 1, 49, 40)), 8, (10, 8), stride=2, pad=(4, 3, 5, 3))
    builder.output(builder.dense("dense", builder.flatten(x), 4))
    chip = load_chip("alif-e7", ("weights.in_place=always", "shared_memory.bytes=600"))
    program = with_weights_in_place(builder.build(), chip)
    rows = proposed_cascades(program, chip, 600).rows
    assert [(each.ops, each.heights) for each in rows[0]] == [(("conv", "dense"), (1, 1))]


def test_bands_of_columns_are_proposed_where_only_the_output_does_not_fit() -> None:
    """v3 takes 18,432 B and the weights of v1 to v3 14,304 B, together more than 24 KiB. In stripes of its
    rows v3 fits next to rows of half the columns."""
    program, cores = _program("workloads/two_cores.yaml"), {"v": 0, "a": 1}
    core_of = {op.name: cores.get(op.name[0], 0) for op in program.ops()}
    part = split(program, core_of, 2)[0].program
    proposed = proposed_cascades(part, load_chip("gap9-psram"), 24 * KIB)
    assert ("v1", "v2", "v3") in {each.ops for candidate in proposed.banded for each in candidate}
