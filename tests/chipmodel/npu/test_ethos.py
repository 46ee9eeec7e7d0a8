"""Ethos-U55, U65 and U85 against the estimate of Arm's compiler, and what that estimate is made of."""

import csv
from dataclasses import replace
from functools import cache

import pytest

from bench.vela_ops import settings
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.ethos_npu import EthosNpu
from chipmodel.hardware.ethos_u85 import EthosU85
from chipmodel.model.program import Op
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.ethos import layer_cycles
from chipmodel.npu.ethos_blocks import choose_blocks
from chipmodel.npu.ethos_layers import Layer, Size, layer_of, together
from chipmodel.npu.ethos_u85_blocks import choose_u85_block
from tests.support.folders import ROOT
from tests.support.narrowed import of_kind

VELA = ROOT / "tests" / "data"
"""Answers of ethos-u-vela 5.2.0, its own configurations Ethos_U55_High_End_Embedded, Ethos_U65_Embedded and
Ethos_U85_SYS_Flash_High, tensors between ops in bricks:
python -m bench.vela_ops --vela PYTHON --npu NPU --write FILE."""
CHIPS = {"64": "corstone-300-64", "128": "corstone-300", "256": "alif-e7"}
NPUS = {macs: load_chip(name, settings("u55", int(macs))).npu for macs, name in CHIPS.items()}
U85 = {
    str(macs): load_chip("corstone-320", settings("u85", macs)).npu for macs in (128, 256, 512, 1024, 2048)
}
U65 = {macs: load_chip("alif-e7", settings("u65", int(macs))).npu for macs in ("256", "512")}
VARIANTS = {"u55": NPUS, "u65": U65, "u85": U85}


@cache
def rows(npu: str) -> list[dict[str, str]]:
    """Vela's answers for one NPU."""
    with (VELA / f"ethos_{npu}_vela.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _op(row: dict[str, str]) -> Op:
    in_h, in_w, in_c, out_h, out_w, out_c = (
        int(row[f"{side}_{axis}"]) for side in ("in", "out") for axis in "hwc"
    )
    kernel_h, kernel_w, dilation = (int(row[name]) for name in ("kernel_h", "kernel_w", "dilation"))
    down, across = map(int, row["stride"].split("x"))
    sides = in_h, in_w, out_h, out_w, kernel_h, kernel_w, down, across
    window = Window(*sides, dilation_h=dilation, dilation_w=dilation)
    inputs: tuple[str, ...] = ("x",)
    elements, kind = out_h * out_w * out_c, row["kind"]
    work: SingleWork
    match kind:
        case "conv":
            work = Conv(window, in_c, out_c)
        case "depthwise_conv":
            work = Conv(window, in_c, out_c, in_c)
        case "dense":
            work = Matmul(1, in_c, out_c)
        case "max_pool" | "average_pool" | "mean":
            work, kind = Pool(window, in_c), kind.replace("mean", "average_pool")
        case _:
            work, inputs = Vector(elements, 2 * elements, elements, out_h), ("x", "z")
    shape = (1, out_c, out_h, out_w)
    views = (*(shape for _ in inputs), shape)
    return Op("op", kind, work, inputs, ("y",), dtype=f"int{row['bits']}", views=views)


def _cycles(npu: Npu, op: Op) -> int:
    return op_cycles(npu, op, op.work.rows, op.work.channels)


def laid_otherwise(row: dict[str, str]) -> bool:
    """Whether Vela's compiler for Ethos-U85 lays weights or tensors as no other: weights for one input
    channel, of which it leaves out zeros, and element-wise work of few channels, which it makes deeper."""
    kernel, channels = int(row["kernel_h"]) * int(row["kernel_w"]), int(row["in_c"])
    return channels == 1 < kernel if row["kind"] == "conv" else row["kind"] in ("add", "mul") and channels < 8


@pytest.mark.parametrize("npu", VARIANTS)
def test_each_op_is_vela_s_estimate_to_the_cycle(npu: str) -> None:
    assert len(rows(npu)) == 233
    assert {row["macs"] for row in rows(npu)} == set(VARIANTS[npu])
    off = [
        (row, found)
        for row in rows(npu)
        if not (npu == "u85" and (laid_otherwise(row) or row["kind"] == "mean"))
        and not -1 < (found := _cycles(VARIANTS[npu][row["macs"]], _op(row))) - float(row["cycles"]) <= 1
    ]
    assert not off


def test_means_on_u85_are_within_a_hundredth() -> None:
    """Their sums have four bytes, which the model counts as one."""
    means = [row for row in rows("u85") if row["kind"] == "mean"]
    assert len(means) == 36
    for row in means:
        assert _cycles(U85[row["macs"]], _op(row)) == pytest.approx(float(row["cycles"]), rel=0.01), row


def _block(ethos: EthosNpu, layer: Layer) -> Size:
    return Size(*(int(sides[0]) for sides in choose_blocks(ethos, together([layer])).output))


@pytest.mark.parametrize("npu", VARIANTS)
def test_each_block_is_vela_s(npu: str) -> None:
    """Element-wise work has none here."""
    for row in rows(npu):
        ethos, work = VARIANTS[npu][row["macs"]].ethos, _op(row).work
        if row["kind"] != "mean" and isinstance(work, Conv | Pool | Matmul) and ethos is not None:
            _, layer = layer_of(work, int(row["bits"]), row["kind"] == "depthwise_conv")
            block = (
                choose_u85_block(ethos, layer).output if isinstance(ethos, EthosU85) else _block(ethos, layer)
            )
            assert f"{block.height}x{block.width}x{block.depth}" == row["block"], row


def test_wide_accumulators_wait_longer_on_the_smallest_u85() -> None:
    """Vela's answer for one micro-block of 16 bits, which the table does not have."""
    op = Op("op", "conv", Conv(Window(3, 3, 1, 1, 3, 3, 3, 3), 64, 8), ("x",), ("y",), dtype="int16")
    assert _cycles(U85["128"], op) == 1825


@pytest.mark.parametrize("macs", list(CHIPS))
def test_border_blocks_take_what_lies_inside(macs: str) -> None:
    """Never longer than whole blocks, and the same where blocks divide the output."""
    ethos = of_kind(EthosNpu, NPUS[macs].ethos)
    inside = replace(ethos, partial_blocks=True)
    uneven = Layer("convolution", Size(1, 148, 250), Size(1, 148, 2000), (1, 32))
    assert layer_cycles(inside, uneven, "conv") < layer_cycles(ethos, uneven, "conv")
    even = Layer("convolution", Size(64, 64, 64), Size(64, 64, 128), (1, 1))
    block = _block(ethos, even)
    fitting = replace(even, output=Size(4 * block.height, 4 * block.width, 2 * block.depth))
    if _block(ethos, fitting) == block:
        assert layer_cycles(inside, fitting, "conv") == layer_cycles(ethos, fitting, "conv")


def test_weights_are_read_again_for_each_block_through_the_port() -> None:
    """14 x 14 by 96 to 576 channels on 256 MACs: several blocks, and a port busier than the MAC array."""
    op = Op("op", "conv", Conv(Window(14, 14, 14, 14, 1, 1), 96, 576), ("x",), ("y",))
    ethos = of_kind(EthosNpu, NPUS["256"].ethos)
    without, including = (
        _cycles(replace(NPUS["256"], ethos=replace(ethos, weights_on_port=on)), op) for on in (False, True)
    )
    assert including > 1.3 * without
    dense = Op("op", "dense", Matmul(1, 960, 320), ("x",), ("y",))
    assert _cycles(NPUS["256"], dense) == _cycles(
        replace(NPUS["256"], ethos=replace(ethos, weights_on_port=True)), dense
    )


def test_every_kind_of_work_has_a_cost() -> None:
    ops = (
        Op("op", "lstm", Recurrent(10, 20, 30, 4), ("x",), ("y",)),
        Op("op", "softmax", Vector(1000, 1000, 1000, 1), ("x",), ("y",)),
        Op("op", "tanh", Vector(1000, 1000, 1000, 1000), ("x",), ("y",)),
        Op("op", "conv", Conv(Window(8, 8, 16, 16, 2, 2, 2, 2, transposed=True), 8, 8), ("x",), ("y",)),
        Op("op", "conv", Conv(Window(8, 8, 8, 8, 3, 3), 8, 8), ("x",), ("y",), dtype="float32"),
    )
    for npu in (*NPUS.values(), *U85.values()):
        assert all(_cycles(npu, op) > op.work.macs // npu.macs_per_cycle[8] for op in ops)
        assert all(_cycles(npu, op) >= 1 for op in ops)
