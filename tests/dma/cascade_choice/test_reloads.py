"""Cascades that load large weights again: fewer bytes, and turns that the exact geometry confirms."""

from itertools import pairwise

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.rewrites.in_place import reuse
from dma.cascade_choice.least_memory import least_memory_candidates
from dma.cascade_choice.named import cascades_of
from dma.cascade_choice.reloads import Reloading, reloading_cascades
from dma.cascade_choice.segment_estimates import cascade_estimates
from dma.cascade_choice.segment_table import segment_table
from dma.cascade_choice.segmented_chains import segmented_chains
from dma.cascade_choice.stripe_heights import stripe_heights
from workloads.build.builder import ProgramBuilder
from workloads.load import load

KIB = 1024
CHIP = load_chip("alif-e7")


def heavy_block() -> Program:
    """Rows of few bytes between two convolutions with 36 KiB of weights each."""
    b = ProgramBuilder("heavy")
    x = b.input("x", (1, 64, 24, 4))
    x = b.conv("a", x, 64, 3, pad=1)
    x = b.conv("b", x, 64, 3, pad=1)
    b.output(b.conv("c", x, 64, 1))
    return b.build()


@pytest.mark.parametrize("rolls", [True, False])
def test_large_weights_take_turns(rolls: bool) -> None:
    program = heavy_block()
    [chain] = segmented_chains(program, CHIP, rolls, 0)
    sizes = [program.block_bytes(op) for op in program.ops()]
    reloading = Reloading(80 * KIB, (1 / 16,), 8)
    none = segment_table([(), (), (), ()])
    [table] = reloading_cascades(chain.geometry, rolls, reloading, none)
    found = table.segments
    assert found
    for each in found:
        own = sizes[each.ops.start : each.ops.stop]
        assert [own[index] for index in each.reloaded] == [size for size in own if size >= 5 * KIB]
        assert each.bytes <= 80 * KIB
        option = stripe_heights(3, [(each.ops.stop, each.ops.start, each.heights)])
        plain = cascade_estimates(chain.geometry, option, rolls).segments[-1]
        assert plain.ops == each.ops
        chosen = [own[index] for index in each.reloaded]
        assert plain.bytes - each.bytes == sum(chosen) - max(chosen)
        assert each.cycles > plain.cycles


@pytest.mark.slow
def test_mobilenet_v2_runs_in_less_memory() -> None:
    """With all weights of a cascade in memory at once it needs 186.2 KiB."""
    program = reuse(load("zoo:mobilenetv2"), "all")
    candidates = least_memory_candidates(program, CHIP)
    assert any(choice.reloaded for choice in candidates[0])


def test_the_smallest_memory_counts_what_is_loaded_again() -> None:
    program = heavy_block()
    answer = smallest_memory(PlanRequest(program, CHIP, "large-first", "sync"), points=0)
    stay = [CascadeChoice(("a", "b", "c"), (1, 1, 1))]
    together = sum(program.block_bytes(op) for op in with_cascades(program, stay).ops())
    assert answer.with_cascades.shared_memory_bytes < together


def test_fewer_turns_than_steps() -> None:
    """With one row at a time in the first op and stripes in the last one, both have one for each."""
    program = heavy_block()
    choice = CascadeChoice(("a", "b", "c"), (1, 1, 8), True, ("a", "c"))
    [op] = with_cascades(program, [choice]).ops()
    assert isinstance(op.work, CascadeWork)
    order = [step.op for step in op.work.steps if step.op != 1]
    assert sum(a != b for a, b in pairwise(order)) + 1 == 2 * 3


def test_named_cascades_load_weights_again_where_they_do_not_fit() -> None:
    """All weights take 76 KiB, the largest 36 KiB."""
    program, names = heavy_block(), ("a", "b", "c")

    def chosen(kib: int) -> CascadeChoice:
        [choice] = cascades_of(program, load_chip("alif-e7", [f"shared_memory.bytes={kib}KiB"]), names)
        return choice

    assert not chosen(128).reloaded
    assert chosen(64).reloaded == names
    assert not chosen(16).reloaded, "nothing fits"
