"""Bounds with proofs: by hand, wrong ones refused, and never above the bound that nobody has to prove."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

from chipmodel.api.check import check
from chipmodel.api.plan import plan
from chipmodel.bounds.program_windows import proven_cycles
from chipmodel.hardware.chip import Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program, Tensor, Weight
from chipmodel.model.time_bound import SAME_OPS, WITH_CASCADES, WITHOUT_CASCADES, ProofSegment, ProvenCycles
from chipmodel.model.work import Vector
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.proven_cycles import proof_faults
from dma.residency.fitted import fitted
from tests.chipmodel.bounds.test_straight_chains import CHANNELS, WEIGHTS, looped
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.dma.residency.test_channel_slices import wide
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.load import load

BYTE_A_CYCLE = replace(PLAIN, dma=Dma(Route(0, 1, Fraction(0)), Route(0, 1, Fraction(0)), port_bytes=1))
"""A byte takes a cycle, without set-ups."""


def chain(*cycles: int, weights: tuple[int, ...], gathers: tuple[int, ...] = ()) -> Program:
    """Ops one after another, with 10 bytes between them; those of ``gathers`` are in no cascade."""
    names = ["x", *(f"t{number}" for number in range(len(cycles)))]
    ops = [
        Op(
            *(f"op{number}", "relu", Vector(10, 10, 10, rows=10), (names[number],), (names[number + 1],)),
            weights=(f"w{number}",) if weights[number] else (),
            cycles=each,
            gathers=number in gathers,
        )
        for number, each in enumerate(cycles)
    ]
    sizes = {f"w{number}": size for number, size in enumerate(weights) if size}
    return Program(
        "chain",
        {name: Tensor(name, 10) for name in names},
        {name: Weight(name, size, size) for name, size in sizes.items()},
        ("x",),
        (names[-1],),
        tuple(ops),
    )


def faults(program: Program, memory: int, proof: ProvenCycles) -> list[str]:
    return list(proof_faults(program, with_memory(BYTE_A_CYCLE, memory), proof))


def test_segments_add_up() -> None:
    """The NPU takes 50 cycles for two ops. Of the 200 bytes of weights and 10 of a tensor that the third one
    reads, 64 may be there; 10 bytes are stored."""
    program = chain(20, 30, 40, weights=(0, 0, 200))
    segments = ProofSegment("npu", 0, 2), ProofSegment("dma", 2, 3)
    correct = ProvenCycles(WITHOUT_CASCADES, 50 + 210 - 64 + 10, segments)
    assert not faults(program, 64, correct)
    assert faults(program, 64, replace(correct, cycles=207))
    assert faults(program, 65, correct)


def test_nothing_is_there_at_first() -> None:
    program = chain(20, weights=(200,))
    assert not faults(program, 1000, ProvenCycles(WITH_CASCADES, 200 + 10 + 10, (ProofSegment("dma", 0, 1),)))


def test_a_cascade_has_no_segments_inside() -> None:
    """Ops one after another compute 170 cycles before 156 bytes that have no room; ops that take turns may
    overlap all of that."""
    program, chip = chain(80, 90, 40, weights=(0, 0, 200)), with_memory(BYTE_A_CYCLE, 64)
    for_turns, in_order = proven_cycles(program, chip, {})
    assert (for_turns.space, for_turns.cycles) == (WITH_CASCADES, 10 + 200 + 10)
    assert (in_order.space, in_order.cycles) == (WITHOUT_CASCADES, 170 + 210 - 64 + 10)
    assert not faults(program, 64, in_order)
    assert faults(program, 64, replace(in_order, space=WITH_CASCADES))


def test_an_op_in_no_cascade_divides_the_others() -> None:
    program = chain(80, 90, 40, weights=(0, 200, 200), gathers=(1,))
    (proof,) = proven_cycles(program, with_memory(BYTE_A_CYCLE, 64), {})
    assert proof.space == WITH_CASCADES
    assert {segment.start for segment in proof.segments} <= {0, 1, 2}
    assert len(proof.segments) > 1


def corrupted(proof: ProvenCycles, ops: int, random: Random) -> Iterator[ProvenCycles]:
    """One change of each kind."""
    yield replace(proof, cycles=proof.cycles + random.randint(1, 100_000))
    yield replace(proof, cycles=proof.cycles - random.randint(1, proof.cycles))
    number = random.randrange(len(proof.segments))
    before, segment, after = proof.segments[:number], proof.segments[number], proof.segments[number + 1 :]
    turned = replace(segment, unit="dma" if segment.unit == "npu" else "npu")
    longer = replace(segment, stop=segment.stop + random.randint(1, ops))
    empty = replace(segment, stop=segment.start)
    for other in ((turned,), (longer,), (empty,), (segment, segment), ()):
        yield replace(proof, segments=(*before, *other, *after))


def test_corrupted_proofs_are_refused() -> None:
    chip, random = load_chip("stm32n6"), Random(0)
    program = reuse(load("zoo:resnet18"), "all")
    proofs = list(proven_cycles(program, chip, {}))
    assert len(proofs) == 2
    wrong = [bad for _ in range(5) for proof in proofs for bad in corrupted(proof, len(program.body), random)]
    assert len(wrong) >= 50
    assert not any(fault for proof in proofs for fault in proof_faults(program, chip, proof))
    assert all(list(proof_faults(program, chip, bad)) for bad in wrong)


def test_a_plan_states_what_check_verifies() -> None:
    made = plan("zoo:ds_cnn", "alif-e7", streamer="sync")
    verified = check(made, "zoo:ds_cnn")
    assert verified.correct
    with_cascades, without = (f"{proof.cycles:,} cycles" for proof in made.file.bounds)
    assert f"{with_cascades} ({WITH_CASCADES})" in verified.summary
    assert f"{without} (plans whose ops run one after another)" in verified.summary


def test_the_bound_of_a_plan_in_slices_holds_for_the_same_slices() -> None:
    """Another plan of the network, which cuts it otherwise or not at all, may take fewer cycles."""
    chip = with_memory(LUNA_LIKE, 512)
    program = fitted(wide(), chip)
    proofs = list(proven_cycles(program, chip, {}))
    assert {proof.space for proof in proofs} <= {*SAME_OPS}
    assert proofs
    assert not any(fault for proof in proofs for fault in proof_faults(program, chip, proof))
    (fault,) = proof_faults(program, chip, replace(proofs[0], space=WITH_CASCADES))
    assert f"holds only for {SAME_OPS[True]}" in fault


def test_check_refuses_a_bound_that_is_not_proven(tmp_path: Path) -> None:
    document = plan("zoo:ds_cnn", "alif-e7", streamer="sync").to_dict()
    document["bounds"][0]["cycles"] += 1
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    (fault,) = check(file, "zoo:ds_cnn").faults
    assert "is not proven" in fault


def test_a_loop_is_proven_by_one_iteration_as_often_as_it_comes() -> None:
    """Of 1,024 bytes of weights 300 may be left; the input is read, and the output stored, once."""
    program, chip = looped(20), with_memory(BYTE_A_CYCLE, 300)
    proof = next(proven_cycles(program, chip, {"loop": "20"}))
    assert proof.cycles == WEIGHTS + 19 * (WEIGHTS - 300) + 2 * CHANNELS + 19 * CHANNELS
    assert not faults(program, 300, proof)
    for wrong in ("21", "19", "-1", "x", "1" * 9):
        assert faults(program, 300, replace(proof, path=(("loop", wrong),)))
    assert faults(program, 300, replace(proof, path=(("else", "1"),)))


def test_a_plan_with_branches_states_the_path_of_its_bound() -> None:
    made = plan("workloads/gated_vision.yaml", "luna-arcs", streamer="sync")
    verified = check(made, "workloads/gated_vision.yaml")
    assert verified.correct, verified.faults
    assert made.file.bounds[0].path
    decided = "".join(f"; {name}={given}" for name, given in made.file.bounds[0].path)
    assert (
        f"no fewer than {made.file.bounds[0].cycles:,} cycles ({WITH_CASCADES}{decided})" in verified.summary
    )
    assert made.to_dict()["bounds"][0]["path"] == dict(made.file.bounds[0].path)
