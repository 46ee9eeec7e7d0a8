"""The lower bound on cycles: by hand, and never above the cycles of a plan."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.api.workload import load
from chipmodel.bounds.cores import least_compute_cycles
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Channels, Chip, Dma, Route
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.program import ops
from chipmodel.model.time_bound import WITH_CASCADES, WITHOUT_CASCADES
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.from_python.network import Network


def fast_dma(chip: Chip) -> Chip:
    """A chip whose transfers take next to no time, so that the compute bound is the largest."""
    if not isinstance(chip.dma, Dma):
        return replace(chip, dma=replace(chip.dma, setup_cycles=0))
    load, store = (replace(traffic, setup_cycles=0) for traffic in (chip.dma.load, chip.dma.store))
    psram = replace(chip.psram, clock_mhz=Fraction(10**6))
    return replace(chip, psram=psram, dma=replace(chip.dma, load=load, store=store))


GATED = small_network("gated")
"""x (16 B) -> d (MACs 128, weights 160 B) -> one of l (64 + 96 B) and r -> 2 iterations of t."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "iterations", "computed", "loaded", "loads"),
    [
        ("left", 2, 128 + 64 + 2 * 8, 16 + 160 + 96, 3),
        ("right", 2, 128 + 8 + 2 * 8, 16 + 160, 2),
        ("right", 500, 128 + 8 + 500 * 8, 16 + 160, 2),
        ("left", 0, 128 + 64, 16 + 160 + 96, 3),
    ],
)
def test_bounds_by_hand(arm: str, iterations: int, computed: int, loaded: int, loads: int) -> None:
    """Set-ups are 10 cycles for a load and 5 for a store. With two channels set-ups may overlap data, so that
    only one is certain, which may be the smaller."""
    path = {"gate": arm, "loop": str(iterations)}
    after = iterations * 8 + (8 if arm == "right" else 0)  # what runs when the last weights are there
    assert lower_bound_cycles(GATED, PLAIN, path) == max(computed, loaded + 10 * loads + max(8 + 5, after))
    two = replace(PLAIN, dma=replace(PLAIN.dma, channels=Channels(2)))
    assert lower_bound_cycles(GATED, two, path) == max(computed, loaded + 8 + 5, loaded + after)
    fast = fast_dma(PLAIN)
    assert lower_bound_cycles(GATED, fast, path) == computed


def test_a_bound_names_the_plans_that_it_holds_for() -> None:
    path = {"gate": "left", "loop": "2"}
    alone = time_bound(GATED, PLAIN, path)
    together = time_bound(GATED, PLAIN, path, cascades=True)
    assert (alone.space, together.space) == (WITHOUT_CASCADES, WITH_CASCADES)
    assert together.cycles <= alone.cycles
    assert time_bound(GATED, PLAIN, {"gate": "left", "loop": "0"}, cascades=True).cycles > 0
    nothing = ProgramBuilder("nothing")
    nothing.output(nothing.input("x", (1, 16)))
    assert time_bound(nothing.build(), PLAIN, {}, cascades=True).space == WITH_CASCADES


@pytest.mark.parametrize("cascades", [False, True])
def test_more_cores_do_not_shorten_a_chain(cascades: bool) -> None:
    """Four ops of 16 x 16 MACs, one after another: ops that take turns run on one core."""
    two, program = replace(fast_dma(PLAIN), cores=2), small_network("time_bound chain")
    assert time_bound(program, two, {}, cascades=cascades).cycles == 4 * 256


def test_steps_of_a_concat_may_run_before_one_of_its_inputs_in_a_cascade() -> None:
    """a, then b, then rows of both: in a cascade the rows of a may be copied before b has run."""
    net = Network("joined")
    net.input("x", [1, 16, 8, 8])
    a = net.conv(channels=16, kernel=1, name="a")
    b = net.conv(channels=16, kernel=1, name="b")
    net.concat(a, b, axis=2, name="c")
    program = load(net)
    cycles = {"a": 100, "b": 100, "c": 50}
    assert least_compute_cycles(program, 2, cycles) == 250
    assert least_compute_cycles(program, 2, cycles, cascades=True) == 200


def test_a_weight_counts_once_and_a_gathered_table_by_its_gathered_bytes() -> None:
    builder = ProgramBuilder("shared")
    x = builder.input("x", (1, 4))
    shared = [builder.weight("shared", 100)]
    a = builder.dense("a", x, 4, weights=shared)
    b = builder.dense("b", a, 4, weights=shared)
    table = builder.weight("table", 10_000)
    work = next(ops(builder.build().body)).work
    builder.emit("embedding", "e", work, [b], [(1, 4)], weights=[table], gathers=True)
    # b and e take 16 MACs each after a, which cannot end before its weights have been loaded.
    assert lower_bound_cycles(builder.build(), PLAIN, {}) == (4 + 10) + (100 + 10) + 2 * 16


def test_a_loop_of_no_iterations_neither_computes_nor_loads() -> None:
    builder = ProgramBuilder("no-iterations")
    x = builder.input("x", (1, 16))
    with builder.block() as body:
        builder.output(builder.dense("d", x, 8))
    builder.add_loop("loop", 3, body)
    assert lower_bound_cycles(builder.build(), PLAIN, {"loop": "0"}) == 0
    assert lower_bound_cycles(builder.build(), PLAIN, {"loop": "1"}) > 128


def test_cycles_that_the_user_states_are_the_bound_even_zero() -> None:
    (op,) = ops(small_network("own").body)
    assert least_cycles(PLAIN.npu, op) == op_cycles(PLAIN.npu, op, 1, 8) == 0


def test_a_program_that_does_nothing_takes_nothing() -> None:
    builder = ProgramBuilder("nothing")
    builder.input("x", (1, 4))
    assert lower_bound_cycles(builder.build(), PLAIN, {}) == 0


def test_the_bound_of_one_plain_op_is_its_cycles() -> None:
    (op,) = ops(small_network("time_bound plain").body)
    assert least_cycles(LUNA_LIKE.npu, op) == op_cycles(LUNA_LIKE.npu, op, op.work.rows, op.work.channels)


@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
@pytest.mark.parametrize("size", [256, 512, 1024, 8192])
def test_rows_that_strides_skip_need_not_be_loaded(streamer: str, size: int) -> None:
    """Of 64 rows, 1x1 windows 8 apart read 8; stripes load no more than those. The pool of 4 x 4 outputs
    by 4 elements each comes after all of the weights."""
    program = small_network("jumps")
    free = Dma(Route(0, 1, Fraction(0)), Route(0, 1, Fraction(0)))
    assert lower_bound_cycles(program, replace(PLAIN, dma=free), {}) == 8 * 4 * 16 + 4 * 4 * 1 + 4 * 4 * 4
    chip = with_memory(fast_dma(replace(LUNA_LIKE, psram=PLAIN.psram)), size)
    result = run(PlanRequest(program, chip, "large-first", streamer))
    assert result.bound.cycles <= result.trace.cycles


@pytest.mark.slow
def test_a_chip_with_further_memories_has_the_higher_of_two_bounds() -> None:
    """That of their costs, and that of a SharedMemory with the bytes of all of them."""
    program, plain = load("zoo:resnet8"), LUNA_LIKE.with_memory(12 << 10)

    def bound(size: int, *memories: FurtherMemory, cascades: bool = False) -> int:
        chip = replace(plain.with_memory(size), memories=memories)
        return time_bound(program, chip, {}, cascades=cascades).cycles

    slow = FurtherMemory("slow", 1 << 16, 0, Fraction(1, 100), 0, Fraction(1, 100))
    fast = FurtherMemory("fast", 256, 0, Fraction(10**6), 0, Fraction(10**6))
    other = replace(fast, name="other", bytes=4096)
    assert bound(12 << 10) > bound(12 << 10, slow) > bound((12 << 10) + slow.bytes)
    joined = (12 << 10) + fast.bytes + other.bytes
    assert bound(12 << 10, fast, other) == bound(joined) < bound(12 << 10, other) < bound(12 << 10)
    together = bound(12 << 10, fast, other, cascades=True)
    assert together == bound(joined, cascades=True) < bound(joined)
