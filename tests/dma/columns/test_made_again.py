"""Which tensors of a cascade are made again, by what that saves and costs."""

from functools import partial

from chipmodel.cascades.recomputed import cascade_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from dma.columns.made_again import ever_less_held, with_less_held
from dma.residency.tiling import cascade_bytes
from tests.chipmodel.cascades.test_recomputed import chain


def test_the_bytes_fall_with_the_limit_and_no_cascade_goes_beyond_it() -> None:
    program = chain(3, 3, 3, 1, 3)
    ops = list(program.ops())
    plain = CascadeChoice(tuple(op.name for op in ops), (1,) * len(ops))
    size = partial(cascade_bytes, program)
    sizes = list[int]()
    for percent in (100, 110, 130, 150, 200, 400):
        most = program.macs * percent / 100
        choice, least = with_less_held(program, ops, plain, size, most)
        op = cascade_op(program, ops, choice)
        assert (cascade_macs(op) <= most, size(op)) == (True, least)
        front = list(ever_less_held(program, ops, plain, size, most))
        assert all(macs <= most for _, _, macs in front)
        assert least <= min(each for _, each, _ in front)
        sizes.append(least)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
