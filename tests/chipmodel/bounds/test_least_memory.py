"""The least memory of the listed ways: known answers, every set of cascades of small chains, and plans."""

from itertools import islice
from random import Random

import pytest

from chipmodel.bounds.least_memory import least_memory
from chipmodel.cascades.recomputed import computed
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.by_ways import least_plan_in
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.columns.plan_ways import Chain, PlanWays
from dma.residency.greedy import decide
from dma.residency.tiling import slice_bytes
from tests.support.cascade_chains import every_set_of_cascades, random_chain, tall_chain
from tests.support.narrowed import some
from workloads.load import load

MOST_SETS = 400
MSF_CNN = (
    ("mcunet?variant=vww1&input=80&body=chain", 1.0, 89_600, 16_640),
    ("mcunet?variant=vww1&input=80&body=chain", 1.1131, 26_128, 13_472),
    ("mcunet?variant=mbv2_chain&input=144&body=chain", 1.29755535, 21_288, 9_050),
)
"""Network, limit on multiply-accumulates, bytes of msf-CNN (github.com/TinyPART/msf-CNN, ``result.json``) and
bytes of the listed ways."""


def _reserve(program: Program, op: Op) -> int:
    """Bytes of a cascade's rows and weights, and of the smallest slice of another op's weights."""
    if isinstance(op.work, CascadeWork):
        return op.work.workspace + program.block_bytes(op)
    return min(program.block_bytes(op), slice_bytes(program, op, 1))


def needed(program: Program) -> int:
    """The fewest bytes in which nothing leaves SharedMemory but inputs that come in stripes."""
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        try:
            decide(program, middle, lambda op: _reserve(program, op), spill=False)
            high = middle
        except DoesNotFit:
            low = middle
    return high


@pytest.mark.parametrize("seed", range(12))
def test_no_set_of_cascades_needs_less(seed: int) -> None:
    """Whatever the heights, if they are listed, too."""
    program, chip = random_chain(Random(seed)), load_chip("alif-e7")
    least = some(least_memory(program, chip)).bytes
    for each in islice(every_set_of_cascades(program), MOST_SETS):
        own = PlanWays({}, {choice.ops: Chain(choice.heights, (), 1) for choice in each})
        bound = some(least_memory(program, chip, own=own)).bytes
        assert bound <= min(least, needed(with_cascades(program, each)))


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_needs_hardly_more(seed: int) -> None:
    """The packer's alignment and fragmentation are not known to the ways."""
    program, chip = (
        reuse(tall_chain(Random(seed)), "all"),
        load_chip("alif-e7", ["shared_memory.alignment=1"]),
    )
    least = some(least_memory(program, chip))
    found = [least_plan_in(PlanRequest(program, chip), ways) for ways in least.paths]
    peaks = [planned.solved.peak for _, planned in filter(None, found)]
    assert least.bytes <= min(peaks) <= 1.1 * least.bytes


@pytest.mark.slow
@pytest.mark.parametrize(("network", "times", "published", "known"), MSF_CNN)
def test_rows_computed_again_need_less_than_msf_cnn(
    network: str, times: float, published: int, known: int
) -> None:
    chip = load_chip("alif-e7", ["weights.in_place=always"])
    program = with_weights_in_place(reuse(load(f"zoo:{network}"), "all"), chip)
    least = some(least_memory(program, chip, times))
    assert least.bytes == known < published
    cascaded, planned = some(least_plan_in(PlanRequest(program, chip), least.paths[0]))
    assert computed(cascaded) <= times * computed(program)
    assert planned.solved.peak <= 1.1 * known
