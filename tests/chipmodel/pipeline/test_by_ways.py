"""Plans in the fastest of the listed ways: they fit, are right, and are faster where memory is tight."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import with_ops
from chipmodel.model.schedule import steps
from chipmodel.model.work import Recurrent
from chipmodel.pipeline.by_ways import SHARES, fastest_forms, plan_by_ways, schedules_in
from chipmodel.pipeline.cascade_search import plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.quickest import QuickestPlan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.timing.transfer import transfer_cycles
from chipmodel.verify.commands import verify
from chipmodel.verify.plan_file import verify_file
from tests.support.narrowed import of_kind
from tests.support.small_networks import small_network
from workloads.load import load

HALF = 8272
"""Bytes of SharedMemory that hold half of what DS-CNN has alive at once."""
DS_CNN = reuse(load("zoo:ds_cnn"), "all")
REQUEST = PlanRequest(DS_CNN, load_chip("alif-e7").with_memory(HALF), cascade=CASCADE_AUTO)


def test_half_of_the_memory_holds_a_plan_that_cascades_alone_do_not_find() -> None:
    """The best plan of proposed sets of cascades took 305,251 cycles; a path over explicit ways 257,000
    (a prototype)."""
    found = plan_by_ways(REQUEST, {})
    assert found is not None
    assert found.trace is not None
    assert found.solved.peak <= HALF
    assert found.trace.cycles < 257_000
    members = tuple(cascade.members for cascade in found.schedule.cascades)
    assert members
    assert verify(DS_CNN, found.commands, REQUEST.chip, members) == ()
    run = PlanRun(DS_CNN, [found.commands], HALF, members)
    assert not any(verdict.faults for verdict in check_paths(run, {}, 1))


def test_the_default_takes_it() -> None:
    planned = plan(REQUEST)
    assert planned.schedule.streamer == "shortest-path"
    assert planned.trace is not None
    assert planned.trace.cycles < 257_000


@pytest.mark.slow
def test_a_plan_that_may_compute_rows_again_is_not_slower() -> None:
    """Ways that compute nothing again are within any limit: DS-CNN took 413,435 cycles where they were left
    out."""
    again = plan(replace(REQUEST, recompute=1.5))
    assert again.trace is not None
    assert again.trace.cycles < 257_000


def test_tensors_pass_in_stripes_where_they_have_no_room() -> None:
    found = plan_by_ways(REQUEST, {})
    assert found is not None
    kinds = {buffer.kind for buffer in found.schedule.buffers.values()}
    assert "stripe" in kinds
    assert found.schedule.moves_tensors


def test_branches_have_ways_too() -> None:
    """Each arm runs in the ways of a path through it, and both are right."""
    program = reuse(load("workloads/gated_vision.yaml"), "all")
    chip = REQUEST.chip.with_memory(24 << 10)
    found = plan_by_ways(PlanRequest(program, chip, cascade=CASCADE_AUTO), {})
    assert found is not None
    assert found.schedule.moves_tensors
    members = tuple(cascade.members for cascade in found.schedule.cascades)
    assert verify(program, found.commands, chip, members) == ()
    run = PlanRun(program, [found.commands], chip.shared_memory.bytes, members)
    assert not any(verdict.faults for verdict in check_paths(run, {}, 1))


@pytest.mark.parametrize(("size", "sliced"), [(9088, False), (4544, True)])
def test_a_recurrent_layer_runs_step_by_step_where_its_weights_are_cut(size: int, sliced: bool) -> None:
    """Slices of the units of all time steps were listed, as of a convolution's channels: no machine can run
    them."""
    program, chip = small_network("lstm"), load_chip("stm32n6").with_memory(size)
    found = plan(PlanRequest(program, chip))
    parts = [step for step in steps(found.schedule.body) if step.op == "lstm"]
    assert any(len(part.channels) < 32 for part in parts) == sliced
    assert verify(program, found.commands, chip) == ()
    run = PlanRun(program, [found.commands], size)
    assert not any(verdict.faults for verdict in check_paths(run, {}, 1))


def test_a_plan_that_may_not_spill_moves_inputs_and_outputs_alone() -> None:
    program = reuse(load("zoo:resnet8"), "all")
    chip = REQUEST.chip.with_memory(48_000)
    found = plan_by_ways(PlanRequest(program, chip, cascade=CASCADE_AUTO, spill=False), {})
    assert found is not None
    moved = {each.part.name for each in found.schedule.transfers if not each.part.weights}
    assert moved <= {*program.inputs, *program.outputs}
    assert found.solved.peak <= 48_000


@pytest.mark.parametrize("size", [pytest.param(366_576, marks=pytest.mark.slow), 733_152])
def test_concats_are_made_in_place(size: int) -> None:
    """SqueezeNet in a quarter and half of its memory: by ways that knew no concat it had no such plan."""
    program = reuse(load("zoo:squeezenet"), "all")
    chip = REQUEST.chip.with_memory(size)
    found = plan_by_ways(PlanRequest(program, chip, cascade=CASCADE_AUTO), {})
    assert found is not None
    assert found.trace is not None
    assert found.trace.cycles < {366_576: 9_300_000, 733_152: 7_700_000}[size]
    moved = {each.part.name for each in found.schedule.transfers if not each.part.weights}
    concats = {name for op in program.ops() if op.absorbs for name in op.outputs}
    assert not concats <= moved


def test_results_that_are_made_in_parts_are_stored() -> None:
    """A concat of results that no op reads was let go for nothing by paths. The plan waits for loads that the
    path takes to be issued before."""
    program, chip = reuse(small_network("parts"), "all"), load_chip("stm32n6").with_memory(160 * 1024)
    found = plan_by_ways(PlanRequest(program, chip, cascade=CASCADE_OFF), {})
    assert found is not None
    assert found.trace is not None
    assert found.path_cycles is not None
    assert found.path_cycles > transfer_cycles(chip, "store", program.tensors["both"].bytes)
    assert found.path_cycles == pytest.approx(found.trace.cycles, rel=0.08)


def test_a_tensor_may_have_the_memory_of_a_concat() -> None:
    """The problem of a path took it to be completed before the first run: MobileFaceNet had no plan."""
    program = reuse(small_network("over_parts"), "all")
    assert plan_by_ways(PlanRequest(program, load_chip("stm32n6"), cascade=CASCADE_OFF), {})


def test_no_step_waits_for_a_store_while_there_is_room() -> None:
    """The store of a result takes as long as several of the steps after it: only the first one hid it."""
    request = PlanRequest(reuse(small_network("stored"), "all"), load_chip("stm32n6"), cascade=CASCADE_OFF)
    found = plan_by_ways(request, {})
    assert found is not None
    assert found.trace is not None
    waits = {event.op for event in found.trace.of("npu") if event.cause == "output"}
    assert waits <= {"small5"}


def test_an_op_is_computed_in_stripes_where_that_is_faster_though_everything_stays() -> None:
    """A layer of BlazeFace takes 15,182 cycles as a whole."""
    program, chip = small_network("faster"), REQUEST.chip.with_memory(8 << 20)
    found = plan_by_ways(PlanRequest(program, chip), {})
    assert found is not None
    parts = [step.cycles for step in steps(found.schedule.body) if step.op == "op"]
    assert len(parts) > 1
    assert sum(parts) < 12_000
    assert "op" not in found.schedule.striped
    assert verify(program, found.commands, chip) == ()
    run = PlanRun(program, [found.commands], chip.shared_memory.bytes)
    assert not any(verdict.faults for verdict in check_paths(run, {}, 1))


@pytest.mark.parametrize(
    ("network", "chip", "size"),
    [
        ("resnet8", "stm32n6", 25_368),
        ("micronet_kws", "alif-e7", 88_880),
        ("ds_cnn", "stm32n6", 16_520),
        ("autoencoder", "corstone-300", 2_080),
    ],
)
def test_plans_are_correct_to_the_byte(network: str, chip: str, size: int) -> None:
    """An addition in two parts made its sum over an input that the second part still read as a whole."""
    program, target = reuse(load(f"zoo:{network}"), "all"), load_chip(chip).with_memory(size)
    planned = plan(PlanRequest(program, target, cascade=CASCADE_AUTO), {})
    assert verify_file(program, plan_of_planned(planned, target, chip, ()), target) == ()


def test_slices_of_weights_pass_through_two_buffers_in_turn_where_pieces_cannot_be_packed() -> None:
    """Each slice was loaded by the step that reads it: 442,697 cycles. The chip's own tool takes 322,800."""
    program, chip = reuse(load("zoo:autoencoder"), "all"), load_chip("corstone-300").with_memory(2_080)
    found = plan_by_ways(PlanRequest(program, chip, cascade=CASCADE_AUTO), {})
    assert found is not None
    assert found.trace is not None
    assert found.trace.cycles < 350_000


def tries_of_all(request: PlanRequest) -> Iterator[QuickestPlan]:
    """Every schedule of the search alone, packed and simulated."""
    sizes = [request.chip.shared_memory.bytes * share // 64 for share in SHARES]
    for program, ways in fastest_forms(request, {}, sizes):
        for whole, schedule in schedules_in(request, program, ways):
            tried = QuickestPlan(request, {})
            tried.fits(ways.bytes, whole, schedule)
            yield tried


@pytest.mark.parametrize(
    ("network", "chip", "size"), [("autoencoder", "gap9-psram", 2_064), ("resnet8", "stm32n6", 25_368)]
)
def test_schedules_are_packed_in_the_order_of_their_forecasts(network: str, chip: str, size: int) -> None:
    """None that is left out is faster: AutoEncoder took 549,175 cycles where only those after the first that
    fits were left out, and 510,802 were found by trying all."""
    program, target = reuse(load(f"zoo:{network}"), "all"), load_chip(chip).with_memory(size)
    request = PlanRequest(program, target, cascade=CASCADE_AUTO)
    found = plan_by_ways(request, {})
    assert found is not None
    assert found.trace is not None
    assert found.trace.cycles == min(tried.cycles for tried in tries_of_all(request))


def test_a_plan_without_cascades_that_was_made_is_kept_where_it_is_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plan of single ops was not near the bound, and the one with cascades had to be taken: 493,445
    cycles in place of 185,845, of a network whose concat the model of paths let go for nothing."""
    request = PlanRequest(DS_CNN, load_chip("stm32n6"), cascade=CASCADE_AUTO)
    alone = plan_by_ways(replace(request, cascade=CASCADE_OFF), {})
    slow = plan_by_ways(request.with_chip(request.chip.with_memory(HALF)), {})

    def made(asked: PlanRequest, path: object, likely: int = 0) -> Planned | None:
        return alone if asked.cascade == CASCADE_OFF else slow

    monkeypatch.setattr("chipmodel.pipeline.cascade_search.plan_by_ways", made)
    monkeypatch.setattr("chipmodel.pipeline.cascade_search.NEAR", 0)
    assert plan_with_cascades(request, {}) is alone


def backwards(work: Recurrent) -> Recurrent:
    return replace(work, backward=True)


def test_a_plan_that_takes_much_longer_than_its_path_has_a_rival() -> None:
    """A layer that runs backwards is in no listed way, and its path takes it to have its weights once: in
    those ways it takes 876,952 cycles, and 26,523 by another streamer."""
    program = small_network("backwards")
    turned = with_ops(program.body, lambda op: replace(op, work=backwards(of_kind(Recurrent, op.work))))
    request = PlanRequest(replace(program, body=turned), load_chip("stm32n6").with_memory(7680))
    found = plan(replace(request, cascade=CASCADE_AUTO)).trace
    assert found is not None
    assert found.cycles <= 26_523
