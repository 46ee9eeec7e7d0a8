"""Models in the onnx package's own test data and many built-in networks, unedited, through the whole way on
two chips; each plan passes the independent verifier."""

from functools import cache
from pathlib import Path

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import with_psram
from tests.support.folders import LIGHT_MODELS
from tests.support.networks import CONTROL_FLOW, PLANNED
from workloads.load import load

LIGHT = sorted(LIGHT_MODELS.glob("*.onnx"))
LARGE_PSRAM = 256 << 20
"""Bytes; more than AlexNet needs."""
BUILT_IN = [f"zoo:{network.name}" for network in PLANNED if network not in CONTROL_FLOW]
"""Those with branches and loops, along every path: tests/workloads/zoo/test_dynamic.py."""
IN_LARGE_MEMORY = {"light_resnet50"}
"""Long on a small chip, where others stand for it: ResNet-18 and DenseNet-121."""
LONG = {"light_vgg19", "light_inception_v1", "light_inception_v2", "light_zfnet512", "zoo:vgg16"}
"""Others stand for these everywhere: AlexNet and GoogLeNet."""
CASES = [
    *((str(s), "stm32n6" if s.stem in IN_LARGE_MEMORY else "luna-csk6") for s in LIGHT if s.stem not in LONG),
    *((s, "luna-csk6" if n % 2 else "stm32n6") for n, s in enumerate(BUILT_IN) if s not in LONG),
]
"""Each network once; both chips run some of them."""


@cache
def program(source: str) -> Program:
    return load(source)


def test_all_nine_models_are_there() -> None:
    assert len(LIGHT) == 9


@pytest.mark.parametrize(("source", "chip_name"), CASES, ids=[f"{Path(s).stem}-{c}" for s, c in CASES])
def test_network_fits_and_its_plan_is_correct(source: str, chip_name: str) -> None:
    network, chip = program(source), with_psram(load_chip(chip_name), LARGE_PSRAM)
    planned = plan(PlanRequest(network, chip))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert verify(network, planned.commands, chip) == ()
    trace = simulate(planned.commands, chip)
    assert lower_bound_cycles(network, chip, trace.path) <= trace.cycles
    loaded = sum(e.bytes for e in trace.events if e.kind == "load weights")
    assert loaded >= network.weight_bytes
