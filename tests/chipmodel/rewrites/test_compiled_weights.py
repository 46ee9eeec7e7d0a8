"""Weights in the size of the chip's tool: by bits, padding and parameters of each channel."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.compiled_weights import compiled
from workloads.load import load

NETWORK = load("zoo:resnet8")


def sizes(*settings: str, program: Program = NETWORK) -> dict[str, int]:
    chip = load_chip("luna-arcs", settings)
    return {name: weight.bytes for name, weight in compiled(program, chip).weights.items()}


def test_a_chip_that_says_nothing_leaves_them_as_they_are() -> None:
    assert compiled(NETWORK, load_chip("luna-arcs")) is NETWORK
    assert compiled(NETWORK, load_chip("gap9")) == NETWORK


@pytest.mark.parametrize(
    ("settings", "first", "second"),
    [
        # conv1 has 3 x 3 x 3 x 16 = 432 parameters, stack1.conv1 3 x 3 x 16 x 16 = 2,304.
        (("weights.bits_per_weight=5",), 270, 1440),
        (("weights.padded_channels=16",), 2304, 2304),
        (("weights.bytes_per_channel=2",), 432 + 32, 2304 + 32),
        (("weights.bits_per_weight=7", "weights.padded_channels=32"), 432 * 32 // 3 * 7 // 8, 4032),
    ],
)
def test_by_hand(settings: tuple[str, ...], first: int, second: int) -> None:
    found = sizes(*settings)
    assert (found["conv1.weight"], found["stack1.conv1.weight"]) == (first, second)
    assert found["conv1.bias"] == NETWORK.weights["conv1.bias"].bytes


def test_depthwise_kernels_are_not_padded_and_wide_weights_are_not_cut() -> None:
    small = load("zoo:ds_cnn")
    found = sizes("weights.padded_channels=16", program=small)
    assert found["conv2.depthwise.weight"] == 9 * 64
    floats = load("zoo:ds_cnn", dtype="float32")
    assert sizes("weights.bits_per_weight=4", program=floats)["conv2.depthwise.weight"] == 4 * 9 * 64


@given(st.integers(1, 8))
def test_fewer_bits_never_take_more_bytes(bits: int) -> None:
    fewer, more = sizes(f"weights.bits_per_weight={bits}"), sizes()
    assert all(fewer[name] <= more[name] for name in more)


def test_a_plan_moves_the_compiled_bytes() -> None:
    chip = load_chip("gap9", ("weights.bits_per_weight=4",))
    program = compiled(NETWORK, chip)
    result = run(PlanRequest(program, chip, streamer="vendor"))
    moved = sum(t.bytes for t in result.schedule.transfers if t.part.weights)
    assert moved == program.weight_bytes < 0.6 * NETWORK.weight_bytes
