"""Weights read in place: which ops, what they cost by hand, and plans of them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip, InPlaceReading, InPlaceWish
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import Compute, DmaStart
from chipmodel.model.program import Op, Program
from chipmodel.model.tree import walk
from chipmodel.npu.cycles import op_cycles, op_phases
from chipmodel.npu.least_costs import least_cycles
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.weights_in_place import bounded_program, in_place_ops, with_weights_in_place
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network
from workloads.load import load


def reading(
    wish: InPlaceWish, rate: Fraction = Fraction(2), latency: int = 5, chip: Chip = LUNA_LIKE
) -> Chip:
    return replace(chip, in_place=InPlaceReading(wish, rate, latency))


def op_named(program: Program, name: str) -> Op:
    return next(op for op in program.ops() if op.name == name)


@pytest.mark.parametrize(
    ("wish", "chosen", "found"),
    [
        ("no", ("conv",), ()),
        ("allowed", ("conv",), ("conv",)),
        ("allowed", (), ()),
        ("always", (), ("conv", "dense")),
    ],
)
def test_which_ops(wish: InPlaceWish, chosen: tuple[str, ...], found: tuple[str, ...]) -> None:
    program = with_weights_in_place(small_network("two layers"), reading(wish), chosen)
    assert in_place_ops(program) == found
    for op in program.ops():
        assert bool(program.block_bytes(op)) == (op.name in {"conv", "dense"} - {*found})
        assert program.table_bytes(op) == small_network("two layers").table_bytes(
            op_named(small_network("two layers"), op.name)
        )


def test_a_chip_that_always_does_has_it_in_its_compiled_program() -> None:
    assert in_place_ops(compiled(small_network("two layers"), reading("always"))) == ("conv", "dense")
    assert in_place_ops(compiled(small_network("two layers"), reading("allowed"))) == ()
    program = small_network("two layers")
    assert compiled(program, LUNA_LIKE) is program


def test_the_longer_of_computing_and_reading_after_the_latency() -> None:
    npu, program = LUNA_LIKE.npu, small_network("two layers")
    conv = op_named(program, "conv")
    size, rows, channels = program.block_bytes(conv), conv.work.rows, conv.work.channels
    computing = op_cycles(npu, conv, rows, channels)
    slow = op_named(with_weights_in_place(program, reading("always", Fraction(1, 4), 5)), "conv")
    assert op_cycles(npu, slow, rows, channels) == 4 * size + 5
    assert op_cycles(npu, slow, rows, channels // 2) == 2 * size + 5
    assert op_cycles(npu, slow, 1, channels) == 4 * size + 5  # every stripe reads all weights again
    quick = op_named(with_weights_in_place(program, reading("always", Fraction(10**6), 7)), "conv")
    assert op_cycles(npu, quick, rows, channels) == computing + 7


def test_a_recurrent_layer_reads_its_weights_at_each_time_step() -> None:
    program = small_network("recurrent")
    (op,) = program.ops()
    (placed,) = with_weights_in_place(program, reading("always", Fraction(1, 100), 0)).ops()
    assert op_cycles(LUNA_LIKE.npu, placed, placed.work.rows, placed.work.channels) == (
        4 * 100 * program.block_bytes(op)
    )


def test_the_rate_is_that_of_the_memory_by_default() -> None:
    assert reading("always", Fraction(0)).in_place_rate == Fraction(240 * 2, 300)
    settings = ("weights.in_place=always", "weights.memory=mram")
    assert load_chip("alif-e7", settings).in_place_rate == Fraction("0.968")
    faster = load_chip("alif-e7", (*settings, "weights.in_place_bytes_per_cycle=4"))
    assert faster.in_place == InPlaceReading("always", Fraction(4), 60)


def test_phases_add_up_and_no_weights_pass_the_ports() -> None:
    chip = reading("always", Fraction(1, 50), chip=load_chip("luna-arcs"))
    for op in with_weights_in_place(small_network("two layers"), chip).ops():
        tile = op.work.rows, op.work.channels
        phases = op_phases(chip.npu, op, *tile)
        assert sum(phase.cycles for phase in phases) == op_cycles(chip.npu, op, *tile)
        assert not op.weights_in_place or all(phase.kind != "weights" for phase in phases)


@pytest.mark.parametrize(("stripes", "slices"), [(1, 1), (1, 4), (3, 1), (2, 2)])
def test_no_division_takes_less_than_the_least(stripes: int, slices: int) -> None:
    for rate in (Fraction(1, 10), Fraction(50)):
        program = with_weights_in_place(small_network("two layers"), reading("always", rate, 3))
        conv = op_named(program, "conv")
        rows, channels = conv.work.rows // stripes, conv.work.channels // slices
        tiles = stripes * slices * op_cycles(LUNA_LIKE.npu, conv, rows, channels)
        assert tiles >= least_cycles(LUNA_LIKE.npu, conv)


def test_a_plan_loads_no_weights_and_says_where_they_are_read() -> None:
    chip = with_memory(reading("always"), 8 << 10)
    planned = plan(PlanRequest(small_network("two layers"), chip, streamer="sync"))
    starts = [each for each in walk(planned.commands) if isinstance(each, DmaStart)]
    assert all(not start.at.part.weights for start in starts)
    places = {each.op: each.weights_at for each in walk(planned.commands) if isinstance(each, Compute)}
    conv, dense = places["conv"], places["dense"]
    assert conv is not None
    assert dense is not None
    assert not conv.overlaps(dense)
    assert places["pool"] is None
    assert not verify(planned.program, planned.commands, chip)
    assert planned.fit(chip).psram.bytes >= len(conv) + len(dense)


@pytest.mark.parametrize("broken", ["elsewhere", "nowhere", "too short", "over another"])
def test_the_verifier_refuses_other_places(broken: str) -> None:
    chip = with_memory(reading("always"), 8 << 10)
    planned = plan(PlanRequest(small_network("two layers"), chip, streamer="sync"))
    computes = {each.op: each for each in planned.commands if isinstance(each, Compute)}
    conv, dense = computes["conv"].weights_at, computes["dense"].weights_at
    assert conv is not None
    assert dense is not None
    wrong = {
        "elsewhere": replace(conv, start=chip.psram.bytes, stop=chip.psram.bytes + len(conv)),
        "nowhere": None,
        "too short": replace(conv, stop=conv.stop - 1),
        "over another": replace(conv, start=dense.start, stop=dense.start + len(conv)),
    }[broken]
    commands = tuple(
        replace(each, weights_at=wrong) if isinstance(each, Compute) and each.op == "conv" else each
        for each in planned.commands
    )
    assert verify(planned.program, commands, chip)


def test_the_bound_holds_for_either_choice() -> None:
    program, allowed = load("zoo:ds_cnn"), reading("allowed", chip=load_chip("alif-e7"))
    least = time_bound(program, allowed, {}).cycles
    for wish in ("no", "always"):
        chip = replace(allowed, in_place=replace(allowed.in_place, wish=wish))
        assert least <= time_bound(with_weights_in_place(program, chip), chip, {}).cycles
    assert not any(op.constants for op in bounded_program(program, allowed).ops())
    assert bounded_program(program, LUNA_LIKE) is program
