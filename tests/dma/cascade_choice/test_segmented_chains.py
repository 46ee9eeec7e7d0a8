"""Segments of all chains of a program, and further ones."""

from chipmodel.cascades.rewrite import cascade_op
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from dma.cascade_choice.segment_table import CascadeSegment
from dma.cascade_choice.segmented_chains import (
    SegmentedChain,
    band_counts,
    cascade_choices,
    exact_bytes,
    is_possible,
    segmented_chains,
    with_bands,
)
from dma.residency.tiling import cascade_bytes
from workloads.build.builder import ProgramBuilder


def chains() -> list[SegmentedChain]:
    builder = ProgramBuilder("chain")
    value = builder.input("x", (1, 4, 24, 16))
    for name in "abc":
        value = builder.conv(name, value, 8, 3, pad=1)
    builder.output(value)
    return segmented_chains(builder.build(), load_chip("luna-arcs"), True, 0)


def singles_of(chain: SegmentedChain) -> list[CascadeSegment]:
    return [chain.table.segment(number) for number in chain.table.bounds[1:-1]]


def test_single_ops_come_first_and_others_may_be_left_out() -> None:
    (chain,) = chains()
    singles = singles_of(chain)
    assert [each.heights for each in singles] == [(), (), ()]
    assert [each.ops.start for each in singles] == [0, 1, 2]
    cascades = [number for number, each in enumerate(chain.table.segments) if each.heights]
    left = chain.without(cascades[:1])
    assert not left.allowed[cascades[0]]
    assert left.allowed.sum() == chain.allowed.sum() - len(chain.table.same(cascades[0]))


def test_the_choice_of_a_segment_names_its_ops_and_heights() -> None:
    (chain,) = chains()
    program = chain.geometry.program
    segment = next(each for each in chain.table.segments if len(each.heights) == 3)
    (choice,) = cascade_choices([(chain, segment), (chain, singles_of(chain)[0])], True)
    assert (choice.ops, choice.heights, choice.rolls) == (("a", "b", "c"), segment.heights, True)
    assert is_possible(program, (choice,))
    op = cascade_op(program, list(program.ops()), choice)
    assert exact_bytes(chain, segment, True) > cascade_bytes(program, op)


def test_bands_are_added_to_the_segments() -> None:
    (chain,) = chains()
    banded = with_bands(chain, True, 1 << 20)
    assert {each.bands for each in banded.table.segments} == {1, 2, 3, 4, 6, 8}


def test_narrow_bands_are_as_wide_as_few_columns() -> None:
    (chain,) = chains()
    (columns,) = {each for each in chain.geometry.banded.columns if each}
    counts = band_counts(chain)
    assert {-(-columns // width) for width in (1, 2, 3, 4)} <= {*counts}
    banded = with_bands(chain, True, 1 << 20, counts)
    assert columns in {each.bands for each in banded.table.segments}


def test_what_a_cascade_reads_again_cannot_be_in_psram() -> None:
    """Of ``a``, which ``b`` in the cascade reads and ``sum`` after it, no stripe would do."""
    b = ProgramBuilder("skip")
    first = b.conv("a", b.input("x", (1, 8, 16, 16)), 8, 1)
    second = b.conv("b", first, 8, 1)
    b.output(b.elementwise("add", "sum", [b.conv("c", second, 8, 1), first]))
    (chain,) = segmented_chains(b.build(), load_chip("alif-e7"), True, 0)
    found = next(
        each for each in chain.table.segments if each.ops == Interval(0, 2) and each.heights == (1, 1)
    )
    whole, row = 8 * 16 * 16, 8 * 16
    assert found.bytes - found.outside == found.weights + whole + row
    assert exact_bytes(chain, found, True) == found.bytes


def test_chained_ops_hand_one_tensor_of_several_rows_to_the_next_op_alone() -> None:
    """Vela 5.2.0, ``CascadeBuilder``: several read ``a``, ``sum`` and ``gated`` two; ``mean`` has one row.
    Nor is the transposed convolution ``t`` in one."""
    b = ProgramBuilder("net")
    first = b.conv("a", b.input("x", (1, 8, 16, 16)), 8, 1)
    added = b.elementwise("add", "sum", [b.conv("c", b.conv("b", first, 8, 1), 8, 1), first])
    last = b.conv("t", b.conv("e", b.conv("d", added, 8, 1), 8, 1), 8, 1, transposed=True)
    b.output(b.elementwise("mul", "gated", [last, b.conv("g", b.pool("mean", last, None), 8, 1)]))
    (chain,) = segmented_chains(b.build(), load_chip("alif-e7"), True, 0, chained=True)
    cascades = {each.ops for each in chain.table.segments if each.heights}
    names = {tuple(op.name for op in chain.geometry.ops[c.start : c.stop]) for c in cascades}
    assert names == {("b", "c"), ("d", "e")}
