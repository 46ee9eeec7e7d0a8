"""Tilings of an op and their forecasts, against the steps and transfers that result, also where faster."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given, settings, strategies as st

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import steps
from chipmodel.npu.cycles import op_cycles
from chipmodel.rewrites.in_place import reuse
from chipmodel.timing.transfer import transfer_cycles
from dma.residency.best_cuts import TilingForecast, best_cut, cuts
from dma.residency.faster_cuts import faster_cuts, may_be_cut
from dma.residency.greedy import Residency, ResidencyTable, Segment
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes
from dma.schedule.operands import Emission
from dma.schedule.steps import emit
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program
from workloads.build.builder import ProgramBuilder
from workloads.load import load


def emitted(program: Program, chip: Chip, op: Op, cut: TilingForecast, kept: frozenset[str]) -> Emission:
    """``op`` alone in its stripes; ``kept`` operands whole in SharedMemory."""
    alone = replace(program, body=(op,), inputs=op.inputs, outputs=op.outputs)
    touches = ResidencyTable(alone).touches
    segments = {n: (Segment(n, tuple(touches[n]), loaded=n in op.inputs, stored=()),) for n in kept}
    storage = {name: name for name in program.tensors}
    residency = Residency(segments, storage, frozenset((op.name,)), (0,), (), kept={op.name: kept})
    return emit(alone, chip, residency, {op.name: cut.tiling})


def real_npu(emission: Emission) -> int:
    return sum(step.cycles for step in steps(emission.body))


def real_dma(chip: Chip, emission: Emission) -> int:
    needs = [n for n in emission.needs if n.kind != "tensor" and n.bytes]
    return sum(transfer_cycles(chip, need.traffic, need.bytes, need.part.runs) for need in needs)


def real_bytes(program: Program, emission: Emission, op: Op, cut: TilingForecast) -> int:
    """Bytes of the stripe buffers in use, and of ``depth`` times the largest weight slice."""
    stripes = sum(b.bytes for b in emission.buffers.values() if b.kind == "stripe")
    slices = cut.tiling.channels < op.work.channels
    return stripes + slice_bytes(program, op, cut.tiling.channels) * (cut.tiling.depth if slices else 1)


def random_op(seed: int) -> tuple[Program, Chip, Op, frozenset[str]] | None:
    random = Random(seed)
    side = random.choice((3, 6, 10))
    program = random_program(seed, TreeShape(ops=4, depth=0, side=side, channels=random.choice((4, 12))))
    op = random.choice(list(ops(program.body)))
    names = list(dict.fromkeys((*op.inputs, *op.outputs)))
    if op.absorbs or not op.work.rows or not all(program.tensors[n].bytes for n in names):
        return None
    return program, tiny_chip(random), op, frozenset(n for n in names if random.random() < 0.3)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.randoms())
def test_forecasts_hold_for_the_steps(seed: int, random: Random) -> None:
    """NPU cycles to the cycle. The engine's are those of a stripe in the middle, of which another may take
    more by a round-up or by padding; buffers are as large as their largest part."""
    found = random_op(seed)
    assume(found is not None)
    assert found is not None
    program, chip, op, kept = found
    cut = random.choice(cuts(program, chip, op, kept))
    emission = emitted(program, chip, op, cut, kept)
    assert len(list(steps(emission.body))) == cut.tiling.count(op)
    assert cut.npu == real_npu(emission)
    assert cut.dma + cut.ends >= real_dma(chip, emission)
    assert cut.bytes >= real_bytes(program, emission, op, cut)
    assert cut.ends <= cut.dma
    assert cut.cycles >= max(cut.npu, cut.dma)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4000))
def test_the_best_cut_fits_and_no_other_is_faster(seed: int, room: int) -> None:
    found = random_op(seed)
    assume(found is not None)
    assert found is not None
    program, chip, op, kept = found
    best = best_cut(program, chip, op, room, kept)
    fitting = [cut for cut in cuts(program, chip, op, kept) if cut.bytes <= room]
    if best is None:
        assert not fitting
        return
    assert best.bytes <= room
    emission = emitted(program, chip, op, best, kept)
    assert real_bytes(program, emission, op, best) <= room
    assert all(best.cycles + best.dma // 2 <= cut.cycles + cut.dma // 2 for cut in fitting)


def pointwise() -> tuple[Program, Op]:
    """x of 8 rows of 16 bytes, y of 8 rows of 32; weights of 8 channels of 4. No halo, all parts even."""
    builder = ProgramBuilder("pointwise")
    y = builder.conv("y", builder.input("x", (1, 4, 8, 4)), 8, 1, bias=False)
    builder.output(y)
    program = builder.build()
    return program, next(ops(program.body))


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_even_parts_are_forecast_to_the_cycle_and_byte(outer: bool, depth: int) -> None:
    program, op = pointwise()
    seen = 0
    for cut in cuts(program, PLAIN, op, NONE_KEPT):
        even = 8 % cut.tiling.rows == 0 == 8 % cut.tiling.channels
        if even and (cut.tiling.depth, cut.tiling.channels_outer) == (depth, outer):
            emission = emitted(program, PLAIN, op, cut, NONE_KEPT)
            assert cut.dma == real_dma(PLAIN, emission)
            assert cut.bytes == real_bytes(program, emission, op, cut)
            seen += 1
    assert seen == (9 if outer else 16)


def _is(cut: TilingForecast, rows: int, channels: int, depth: int) -> bool:
    return (cut.tiling.rows, cut.tiling.channels, cut.tiling.depth) == (rows, channels, depth)


def test_more_room_is_never_slower_and_too_little_is_none() -> None:
    program, op = pointwise()
    found = [best_cut(program, PLAIN, op, room, NONE_KEPT) for room in range(0, 800, 8)]
    worth = [cut.cycles + cut.dma // 2 for cut in found if cut is not None]
    assert all(a >= b for a, b in pairwise(worth))
    assert found[0] is None
    assert best_cut(program, PLAIN, op, 16 + 4 + 4 - 1, NONE_KEPT) is None
    least = best_cut(program, PLAIN, op, 16 + 4 + 4, NONE_KEPT)
    assert least is not None
    assert _is(least, 1, 1, 1)


@pytest.mark.parametrize(("network", "slices"), [("squeezenet", 1), ("squeezenet", 3), ("blazeface", 1)])
def test_an_op_in_stripes_is_faster_by_what_is_asked(network: str, slices: int) -> None:
    npu = load_chip("alif-e7").npu
    ops = {op.name: op for op in reuse(load(f"zoo:{network}"), "all").ops() if may_be_cut(op)}
    found = faster_cuts(((op, -(-op.work.channels // slices)) for op in ops.values()), npu, 1000)
    assert found
    for name, tiling in found.items():
        op = ops[name]
        whole = Tiling(op.work.rows, tiling.channels)
        before, after = (
            sum(op_cycles(npu, op, len(rows), len(channels)) for rows, channels in each.tiles(op))
            for each in (whole, tiling)
        )
        assert after < before - 1000
        assert (tiling.channels, tiling.striped) == (-(-op.work.channels // slices), False)


def test_squeezenets_last_maximum_takes_two_stripes() -> None:
    """Whole it is computed in blocks of 10 of its 13 rows, the second of which is nearly empty."""
    npu = load_chip("alif-e7").npu
    op = next(op for op in load("zoo:squeezenet").ops() if op.name == "max11")
    tiling = faster_cuts([(op, op.work.channels)], npu, 0)["max11"]
    cycles = [op_cycles(npu, op, len(rows), op.work.channels) for rows in tiling.stripes(op)]
    assert (op_cycles(npu, op, 13, op.work.channels), tiling.rows, sum(cycles)) == (206_363, 7, 86_762)


@pytest.mark.parametrize("chip", ["stm32n6", "luna-arcs", "gap9-psram"])
def test_no_op_of_other_npus_is_cut(chip: str) -> None:
    whole = [(op, op.work.channels) for op in load("zoo:squeezenet").ops()]
    assert faster_cuts(whole, load_chip(chip).npu, 0) == {}
