"""Ops split over cores make the same bytes as whole ones, and their plans run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import chipmodel as cm
from chipmodel.model.core_parts import CoreSplit, OpSplit
from chipmodel.model.program import Op, Program
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from chipmodel.rewrites.core_split import MARK, split_over_cores
from chipmodel.rewrites.splittable import channelwise, may_overlap, may_split_channels, may_split_rows
from tests.fuzz.core_splits import made, random_network
from tests.support.folders import WORKLOADS

NETWORKS = ("zoo:resnet8", "zoo:ds_cnn", "zoo:dnn_kws")


def in_parts(program: Program, cores: Sequence[int], kinds: str) -> CoreSplit:
    """A split of all ops that can be split: number ``i`` over ``cores[i]`` cores, in rows (``r``) or channels
    (``c``) as ``kinds`` says, both again and again."""
    found: dict[str, OpSplit] = {}
    for number, op in enumerate(program.ops()):
        count, kind = cores[number % len(cores)], kinds[number % len(kinds)]
        if kind == "r" and may_split_rows(program, op, count):
            found[op.name] = OpSplit(op.name, "rows", count)
        if kind == "c" and may_split_channels(program, op, count) and not channelwise(program, op):
            found[op.name] = OpSplit(op.name, "channels", count)
    return CoreSplit(tuple(found.values()))


@pytest.mark.parametrize("kinds", ["r", "rrc"])
@pytest.mark.parametrize("cores", [(3,), (2, 4, 4)])
@pytest.mark.parametrize("network", NETWORKS)
def test_splits_make_the_bytes_of_the_network(network: str, cores: Sequence[int], kinds: str) -> None:
    whole = cm.load(network)
    split = in_parts(whole, cores, kinds)
    wanted = made(whole, whole, split)
    for each in (split, replace(split, again=may_overlap(whole, split))):
        found = made(split_over_cores(whole, each), whole, each)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted), each


CHIPS = ("luna-arcs", "gap9", "stm32n6", "esp32s3", "alif-e7")


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_parts_take_no_less_than_the_least_of_the_whole(chip: str) -> None:
    """What the bound on many cores rests on: the cycles of all parts are no less than ``least_cycles``. Bands
    of a convolution with stride 2 left out rows that the whole one reads, and sums of 8 channels, which
    Ethos-U55 pads to 16, were not padded."""
    npu = cm.chip(chip).npu
    images = [random_network(seed, Random(seed)) for seed in (8, 11, 19, 20, 22)]
    for whole in (*images, cm.load(NETWORKS[0]), cm.load(str(WORKLOADS / "residual.tflite"))):
        for split in single_splits(whole):
            name = f"{split.ops[0].op}{MARK}"
            program = split_over_cores(whole, split)
            parts = [op for op in program.ops() if op.name.removeprefix(name).isdecimal()]
            assert len(parts) == split.ops[0].cores
            (op,) = (op for op in whole.ops() if op.name == split.ops[0].op)
            least = least_cycles(npu, op, columns=True)
            assert sum(op_cycles(npu, op, op.work.rows, op.work.channels) for op in parts) >= least, split


def single_splits(program: Program) -> Iterator[CoreSplit]:
    """Each split of one op."""
    for op in (node for node in program.body if isinstance(node, Op)):
        for cores in (2, 3, 4):
            if may_split_rows(program, op, cores):
                yield CoreSplit((OpSplit(op.name, "rows", cores),))
            if may_split_channels(program, op, cores) and not channelwise(program, op):
                yield CoreSplit((OpSplit(op.name, "channels", cores),))


def test_a_split_that_cannot_be_is_refused() -> None:
    whole = cm.load("zoo:resnet8")
    with pytest.raises(ValueError, match="no bands of rows"):
        split_over_cores(whole, CoreSplit((OpSplit("fc", "rows", 2),)))
    with pytest.raises(ValueError, match="two cores or more"):
        split_over_cores(whole, CoreSplit((OpSplit("conv1", "rows", 0),)))
    with pytest.raises(ValueError, match="not in slices of channels"):
        split_over_cores(whole, CoreSplit((OpSplit("stack1.add", "channels", 2),)))
    with pytest.raises(ValueError, match="outside of branches and loops"):
        split_over_cores(whole, CoreSplit((OpSplit("nobody", "rows", 2),)))
    split = CoreSplit((OpSplit("conv1", "rows", 2),), again=("conv1",))
    with pytest.raises(ValueError, match="computed again only"):
        split_over_cores(whole, split)
