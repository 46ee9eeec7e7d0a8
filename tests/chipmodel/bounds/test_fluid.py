"""The bound for plans with cascades: never above the best plan of tiny networks, and high enough."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.bounds.fluid import fluid_bound, fluid_problem
from chipmodel.bounds.time_bound import time_bound
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import Band
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from chipmodel.rewrites.in_place import reuse
from tests.chipmodel.bounds.cascade_oracle import TinyNetwork, TinyOp, least_cycles_of, random_network
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import with_memory
from workloads.load import load

BYTE_A_CYCLE: Chip = replace(PLAIN, dma=Dma(Route(0, 1, Fraction(0)), Route(0, 1, Fraction(0)), port_bytes=1))
"""A MAC and a byte take a cycle each, without set-ups."""


def cascaded(program: Program, capacity: int, path: Mapping[str, str] | None = None) -> int:
    found = fluid_bound(program, with_memory(BYTE_A_CYCLE, capacity), path or {}, cascades=True)
    assert found is not None
    return found.cycles


def fits_a_row(op: TinyOp, capacity: int) -> bool:
    return op.weights + 1 + max(sum(map(len, need)) for need in op.needs) <= capacity


def is_read(network: TinyNetwork, number: int) -> bool:
    return any(number in op.reads for op in network.ops[number:])


def test_no_plan_of_a_tiny_network_beats_the_bound() -> None:
    found: list[tuple[int, int]] = []
    for seed in range(40):
        random = Random(seed)
        network = random_network(random)
        capacity = random.randint(1, max(op.weights for op in network.ops) + network.input_rows + 3)
        best = least_cycles_of(network, capacity, 8000)
        if best is None or not all(fits_a_row(op, capacity) for op in network.ops):
            continue  # the oracle's rows take no memory
        if not all(is_read(network, number) for number in range(len(network.ops) - 1)):
            continue  # the oracle may run what nothing reads at last
        chip = with_memory(BYTE_A_CYCLE, capacity)
        found.append((time_bound(network.program(), chip, {}, cascades=True).cycles, best))
        assert found[-1][0] <= best, seed
    bounds, least = map(sum, zip(*found, strict=True))
    assert bounds > 0.7 * least


def test_bands_out_of_step_with_a_stride_cost_at_least_their_bound() -> None:
    """A whole row aligns all of its windows with the padding on the left, of which a later band has none."""
    window = Window(15, 78, 11, 26, 5, 2, stride_h=1, stride_w=3, pad_left=1)
    op = Op("op", "depthwise_conv", Conv(window, 64, 64, groups=64, batch=3), ("x",), ("y",))
    npu = load_chip("luna-arcs").npu
    bands = [Band(Interval(0, 15), 26), Band(Interval(15, 26), 26)]
    cycles = sum(op_cycles(npu, op, rows, 64, band) for band in bands for rows in (32, 1))
    assert least_cycles(npu, op) > cycles >= least_cycles(npu, op, columns=True)


@pytest.mark.slow
def test_mobilenetv2_in_353_kib_takes_over_1_11_times_the_cycles() -> None:
    """What Vela's 3 % cannot be on a chip whose weights come from HyperRAM: the DMA engine has to wait for
    memory while the first ops compute, and it is what 1,474 KiB take (8,205,709 by ``exact``)."""
    chip = load_chip("alif-e7", ("shared_memory.bytes=353KiB",))
    bound = fluid_bound(load("zoo:mobilenetv2"), chip, {}, cascades=True)
    assert bound is not None
    assert bound.cycles > 1.11 * 8_205_709


def test_slices_of_dense_layers_wait_for_their_loads() -> None:
    """The fastest known plan takes 869,607 cycles. Whole channels, the set-up of each load, numbers of slices
    from the least on, that what all slices read was stored before them, and that no load comes before what it
    loads is made raise the bound by 10,000 to 89,000 each."""
    program, chip = reuse(load("zoo:autoencoder"), "all"), load_chip("luna-arcs").with_memory(2080)
    found = fluid_bound(program, chip, {}, cascades=True)
    assert found is not None
    assert found.cycles == 766_563


def test_ops_that_hardly_fit_take_as_many_parts_as_their_shares_need() -> None:
    """Slices of whole channels in the autoencoder, whose results need not be there whole; in DS-CNN slices in
    stripes of whole rows, for which inputs or weights come again. Without all that the bounds were 6,723,932,
    310,120, 615,512, 375,312 and 388,741."""
    least = (
        ("autoencoder", "stm32n6", 512, 9_000_000),
        ("ds_cnn", "luna-arcs", 4128, 399_000),
        ("ds_cnn", "stm32n6", 4128, 964_000),
        ("ds_cnn", "alif-e7", 4128, 429_000),
        ("ds_cnn", "stm32n6", 8256, 471_000),
    )
    for network, name, capacity, cycles in least:
        found = fluid_bound(
            reuse(load(f"zoo:{network}"), "all"), load_chip(name).with_memory(capacity), {}, cascades=True
        )
        assert found is not None
        assert found.cycles > cycles


def test_a_concat_copies_its_inputs_in_a_cascade() -> None:
    """On its own it takes no time, as they are made in its place."""
    program, chip = reuse(load("zoo:squeezenet"), "all"), load_chip("stm32n6")
    problem = fluid_problem(program, chip, {}, cascades=True)
    apart = fluid_problem(program, chip, {}, cascades=False)
    assert problem is not None
    assert apart is not None
    inside, on_its_own = problem.ops[5], apart.ops[5]
    assert (inside.cycles, inside.alone) == (451_354, -451_354)
    assert (on_its_own.cycles, on_its_own.alone) == (0, 0)
    assert [tensor.read_bytes for tensor in problem.tensors if 5 in tensor.absorbed] == [(186_624,)] * 2
    assert [tensor.read_bytes for tensor in apart.tensors if 5 in tensor.absorbed] == [(0,)] * 2
    assert all(5 in tensor.evenly for tensor in problem.tensors if 5 in tensor.absorbed)


@pytest.mark.slow
def test_what_cascades_and_small_parts_cost_raises_the_bound() -> None:
    """By copies of concats, whole tensors that are needed outside, and a set-up for each part. Without all
    that the bounds were 12,466,592, 278,309, 585,904, 326,915 and 294,604."""
    least = (
        ("squeezenet", "stm32n6", 366_584, 13_672_000),
        ("resnet8", "alif-e7", 12_672, 280_500),
        ("autoencoder", "gap9-psram", 512, 659_000),
        ("autoencoder", "corstone-300", 512, 362_000),
        ("ds_cnn", "gap9-psram", 4128, 301_000),
    )
    for network, name, capacity, cycles in least:
        found = fluid_bound(
            reuse(load(f"zoo:{network}"), "all"), load_chip(name).with_memory(capacity), {}, cascades=True
        )
        assert found is not None
        assert found.cycles > cycles
