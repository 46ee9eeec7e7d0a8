"""Buffers are named after what they hold; names are unique, and change nothing but names."""

from dataclasses import replace

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import BufferSpec, Part, Schedule, Transfer
from dma.schedule.buffer_names import readable_names
from dma.stream import stream
from tests.dma.schedule.test_psram_sharing import chain
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network


def names(program: Program, chip: Chip, streamer: str) -> list[str]:
    return list(stream(program, chip, streamer, chip.shared_memory.bytes).buffers)


def test_two_weight_buffers_in_turn_are_ping_and_pong() -> None:
    assert names(chain(3), LUNA_LIKE, "ping-pong")[-2:] == [
        "ping buffer of conv0..conv2 weights",
        "pong buffer of conv1 weights",
    ]
    assert names(chain(4), LUNA_LIKE, "prefetch-k:3")[-3:] == [
        "conv0..conv3 weights, buffer 1 of 3",
        "conv1 weights, buffer 2 of 3",
        "conv2 weights, buffer 3 of 3",
    ]


def test_slices_are_counted() -> None:
    found = names(small_network("slices"), with_memory(LUNA_LIKE, 20_000), "sync")
    count = len(found) - 2
    assert count > 1
    assert found == ["x", "conv", *(f"conv weights, slice {i} of {count}" for i in range(1, count + 1))]


def test_a_spilled_tensor_comes_back_as_another_part() -> None:
    found = names(small_network("spilled"), with_memory(LUNA_LIKE, 10_000), "sync")
    assert "first, part 1 of 2" in found
    assert "first, part 2 of 2, back from Psram" in found


def test_equal_wishes_and_names_of_the_user_never_meet() -> None:
    """A tensor with the name that a weight slice would get, and the same slice in several buffers."""
    program = chain(1)
    part = Part("conv0", weights=True)
    loads = tuple(Transfer(f"load {i}", "load", part, f"conv0.weights.{i}", 8, 0, 0) for i in range(2))
    specs = [BufferSpec(f"conv0.weights.{i}", 8, kind="weights") for i in range(2)]
    specs.append(BufferSpec("conv0 weights, copy 1 of 2", 8))
    schedule = Schedule((), loads, {spec.name: spec for spec in specs}, "sync")
    found = readable_names(program, schedule)
    assert list(found.values()) == [
        "conv0 weights, copy 1 of 2'",
        "conv0 weights, copy 2 of 2",
        "conv0 weights, copy 1 of 2",
    ]
    assert readable_names(replace(program, name="other"), schedule) == found
