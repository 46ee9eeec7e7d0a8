"""Cuts of chains whose tensors pass through SharedMemory, against all cuts, and stripes counted by hand."""

from collections.abc import Iterator

import numpy as np
import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.schedule import PlainTraffic
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from dma.cascade_choice.choose import kept_cascades
from dma.cascade_choice.cuts import EXCLUDED, TransferEstimate
from dma.cascade_choice.passing_cuts import passing_cut, passing_cycles
from dma.cascade_choice.segmented_chains import SegmentedChain, segmented_chains
from dma.residency.best_cuts import best_cut
from dma.residency.tiling import NONE_KEPT
from workloads.build.builder import ProgramBuilder
from workloads.load import load

ROWS, ROW = 8, 4 * 16
LEGS: tuple[tuple[PlainTraffic, int], ...] = (("load", 3 * ROW), ("store", ROW))


def _chain(chip: Chip) -> SegmentedChain:
    """Convolutions ``a``, ``b`` and ``c`` of eight rows of 64 bytes; ``a`` alone has windows of several
    rows."""
    builder = ProgramBuilder("chain")
    value = builder.input("x", (1, 16, ROWS, 4))
    for name, kernel in (("a", 3), ("b", 1), ("c", 1)):
        value = builder.conv(name, value, 16, kernel, pad=kernel // 2)
    builder.output(value)
    (chain,) = segmented_chains(builder.build(), chip, True, 0)
    return chain


def _all_cuts(chain: SegmentedChain, stop: int) -> Iterator[tuple[int, ...]]:
    if not stop:
        yield ()
        return
    for number in range(chain.table.bounds[stop], chain.table.bounds[stop + 1]):
        for before in _all_cuts(chain, int(chain.table.starts[number])):
            yield (*before, number)


def _cost(chain: SegmentedChain, times: TransferEstimate, capacity: int, cut: tuple[int, ...]) -> int:
    """The cycles of a cut whose segments are in SharedMemory where they fit."""
    table, away = chain.table, passing_cycles(times, chain, capacity, {}).tolist()
    loads = times.of_each("weights", table.weights).tolist()
    own = (int(table.cycles[n]) if table.bytes[n] <= capacity else int(away[n]) for n in cut)
    return sum(own) + sum(int(loads[n]) for n in cut)


@pytest.mark.parametrize("capacity", [900, 1500, 2800, 5000])
def test_no_cut_takes_less_time(capacity: int) -> None:
    chip = load_chip("alif-e7")
    chain, times = _chain(chip), TransferEstimate(chip)
    costs = [_cost(chain, times, capacity, cut) for cut in _all_cuts(chain, chain.table.count)]
    assert min(costs) < EXCLUDED or capacity == 900
    assert _cost(chain, times, capacity, passing_cut(times, chain, capacity, {})) == min(costs)


def test_a_cascade_in_psram_loads_the_halo_rows_again_for_every_step() -> None:
    chip = load_chip("alif-e7")
    chain, times = _chain(chip), TransferEstimate(chip)
    table = chain.table
    found = passing_cycles(times, chain, 1 << 20, {})
    number = next(
        n for n, each in enumerate(table.segments) if each.ops.start == 0 and each.heights == (1, 1)
    )
    load, store = (int(times.of_each(each, np.array([size]))[0]) for each, size in LEGS)
    assert found[number] == max(int(table.cycles[number]) + load + store, ROWS * (load + store))
    needed = int(table.least[number]) + 4 * ROW
    tight = passing_cycles(times, chain, needed, {})
    assert tight[number] == int(table.cycles[number]) + ROWS * (load + store)
    assert passing_cycles(times, chain, needed - 1, {})[number] == EXCLUDED


def test_a_single_op_in_psram_takes_as_long_as_its_best_cut() -> None:
    chip = load_chip("alif-e7")
    chain, times = _chain(chip), TransferEstimate(chip)
    cut = best_cut(chain.geometry.program, chip, chain.geometry.ops[0], 1 << 20, NONE_KEPT)
    assert cut is not None
    weights = int(times.of_each("weights", chain.table.weights)[0])
    assert passing_cycles(times, chain, 1 << 20, {})[0] == cut.cycles - weights


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "chip", "size", "cycles"),
    [("mobilenetv1_025", "stm32n6", 16_584, 1_733_926), ("micronet_kws", "stm32n6", 44_440, 1_112_515)],
)
def test_heights_between_and_streamers_of_the_forecast(
    network: str, chip: str, size: int, cycles: int
) -> None:
    """Without further heights the first takes 1,806,526 cycles; without the streamers of the forecast
    the second takes 1,135,179."""
    program = reuse(load(f"zoo:{network}"), "all")
    asked = PlanRequest(program, load_chip(chip).with_memory(size), streamer="auto", cascade=CASCADE_AUTO)
    assert run(asked).trace.cycles <= cycles


@pytest.mark.slow
def test_ds_cnn_in_half_of_the_memory_runs_as_pairs() -> None:
    program, chip = reuse(load("zoo:ds_cnn"), "all"), load_chip("alif-e7").with_memory(8272)
    passing, *_ = kept_cascades(program, chip, 8272).passing
    pairs = [(each.ops[0], each.heights) for each in passing]
    assert pairs[0] == ("conv1", (4, 4))
    assert pairs[1:] == [(f"conv{number}.pointwise", (1, 1)) for number in (2, 3, 4)]
    found = run(PlanRequest(program, chip, streamer="auto", cascade=CASCADE_AUTO))
    assert found.trace.cycles <= 321_516  # 419,115 without them
