"""Cascades chosen for cores that share one Psram."""

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.multicore import plan_cores, run_cores
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from workloads.load import load


def test_cascades_of_cores_are_chosen_for_the_psram_that_they_share() -> None:
    """With a Psram of its own, each core would rather spill a tensor than run its convolutions in turns."""
    chip = load_chip("luna-csk6", ("cores=2", "shared_memory.bytes=20KiB"))
    program = reuse(load("workloads/two_cores.yaml"), "all")
    request = PlanRequest(program, chip, "large-first", "prefetch-greedy", cascade=CASCADE_AUTO)
    chosen = run_cores(request, {})
    core_of = {op.name: plan.core for plan in chosen.cores for op in plan.part.program.ops()}
    alone = simulate_cores([each.commands for each in plan_cores(request, core_of)], chip, {})
    assert chosen.trace.cycles < 0.95 * alone.cycles
