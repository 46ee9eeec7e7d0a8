"""Tensors share bytes of a Psram that is too small for all of them, and none is destroyed."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.fit import off_chip_bytes
from chipmodel.model.program import Program
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.psram_of_cores import within_psram
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady
from chipmodel.verify.commands import verify
from dma.schedule.psram_layout import aligned
from dma.schedule.psram_sharing import at_homes
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory, with_psram
from tests.support.random_programs import TreeShape, random_program
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

AMPLE = 1 << 30
TENSOR = 8 * 32 * 32


def chain(layers: int) -> Program:
    """Convolutions in a row, of tensors of the same size."""
    net = ProgramBuilder("chain")
    x = net.input("x", (1, 8, 32, 32))
    for layer in range(layers):
        x = net.conv(f"conv{layer}", x, 8, 3, pad=1)
    net.output(x)
    return net.build()


def planned(program: Program, chip: Chip, streamer: str = "ping-pong") -> Planned:
    return plan(PlanRequest(program, chip, streamer=streamer))


def test_a_chain_in_stripes_needs_two_tensors_at_a_time() -> None:
    program, chip = chain(6), with_memory(LUNA_LIKE, 8192)
    plain = planned(program, chip).schedule
    weights = sum(aligned(len(home)) for home in {t.home for t in plain.transfers if t.part.weights})
    assert len(plain.striped) == 6
    assert off_chip_bytes(plain) == weights + 7 * TENSOR
    enough = weights + 2 * TENSOR
    tight = planned(program, with_psram(chip, enough))
    assert off_chip_bytes(tight.schedule) == enough
    assert tight.fit(with_psram(chip, enough)).fits
    assert verify(program, tight.commands, with_psram(chip, enough)) == ()
    less = with_psram(chip, enough - 1)
    assert not planned(program, less).fit(less).fits
    assert verify(program, planned(program, less).commands, less) == (
        f"the plan needs {enough} bytes of Psram, the chip has {enough - 1}",
    )


def test_a_psram_that_is_large_enough_changes_nothing() -> None:
    schedule = planned(chain(3), with_memory(LUNA_LIKE, 8192)).schedule
    assert within_psram(chain(3), schedule, with_psram(LUNA_LIKE, off_chip_bytes(schedule))) is schedule


@pytest.mark.slow
@pytest.mark.parametrize("first", [0])
def test_random_programs_lose_nothing(first: int) -> None:
    """With branches and loops, spilled and striped, in a Psram that is always too small."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + 20):
        random = Random(seed)
        program = random_program(seed, TreeShape(ops=random.randint(3, 12)))
        if random.random() < 0.2:
            program = steady(program, 3)
        program, chip = reuse(program, "all"), tiny_chip(random)
        request = PlanRequest(program, with_psram(chip, 1), streamer=random.choice(("sync", "ping-pong")))
        try:
            found = plan(request)
        except DoesNotFit:
            continue
        plain = plan(request.with_chip(with_psram(chip, AMPLE)))
        assert off_chip_bytes(found.schedule) <= off_chip_bytes(plain.schedule), seed
        if found.solved.peak <= chip.shared_memory.bytes:
            assert verify(found.program, found.commands, with_psram(chip, AMPLE)) == (), seed
            seen["verified"] += 1
            seen["smaller"] += off_chip_bytes(found.schedule) < off_chip_bytes(plain.schedule)
    assert seen["verified"] > 5
    assert seen["smaller"] > 3


def test_the_verifier_finds_what_is_put_over_living_bytes() -> None:
    """Any two tensors at one address: correct exactly where their lifetimes do not meet."""
    program, chip = chain(4), with_psram(with_memory(LUNA_LIKE, 8192), AMPLE)
    found = planned(program, chip)
    homes = {t.home for t in found.schedule.transfers}
    tensors = sorted({t.home for t in found.schedule.transfers if not t.part.weights})
    assert len(tensors) == 5
    shared = 0
    for first, a in enumerate(tensors):
        for second, b in enumerate(tensors):
            moved = at_homes(found.schedule, {home: b if home == a else home for home in homes})
            faults = verify(program, lower(moved, found.solved.plan), chip)
            meet = abs(first - second) == 1
            assert bool(faults) == meet, (a, b, faults)
            shared += a != b and not meet
    assert shared == 12


def test_weights_are_never_stored_over() -> None:
    program, chip = chain(3), with_psram(with_memory(LUNA_LIKE, 8192), AMPLE)
    found = planned(program, chip)
    homes = {t.home: t.home for t in found.schedule.transfers}
    weights = min(t.home for t in found.schedule.transfers if t.part.weights)
    output = max(homes)
    homes[output] = Interval(weights.start, weights.start + len(output))
    faults = verify(program, lower(at_homes(found.schedule, homes), found.solved.plan), chip)
    assert any("weights of 'conv0'" in fault and "share Psram" in fault for fault in faults)


def test_a_home_that_is_too_small_is_found() -> None:
    program, chip = chain(3), with_psram(with_memory(LUNA_LIKE, 8192), AMPLE)
    found = planned(program, chip)
    homes = {t.home: t.home for t in found.schedule.transfers}
    for home in homes:
        short = {**homes, home: Interval(home.start, home.stop - 1)}
        faults = verify(program, lower(at_homes(found.schedule, short), found.solved.plan), chip)
        assert any(" bytes of Psram, not [" in fault for fault in faults), home


def test_a_table_is_in_psram_as_a_whole_and_equal_weights_once() -> None:
    program = small_network("tables")
    a, b = program.body
    twice = replace(program, body=(a, replace(b, weights=a.weights)))  # type: ignore[union-attr, arg-type]
    once, both = planned(twice, LUNA_LIKE), planned(program, LUNA_LIKE)
    assert off_chip_bytes(both.schedule) - off_chip_bytes(once.schedule) == 640
    assert once.fit(LUNA_LIKE).weight_bytes == program.block_bytes(a)  # type: ignore[arg-type]
    assert verify(twice, once.commands, LUNA_LIKE) == ()


def test_stacks_of_many_inferences_take_two_slices() -> None:
    many = steady(chain(2), 1000)
    found = planned(many, LUNA_LIKE)
    assert off_chip_bytes(found.schedule) == off_chip_bytes(planned(steady(chain(2), 2), LUNA_LIKE).schedule)
    assert verify(many, found.commands, LUNA_LIKE) == ()
