"""Which ops Vela leaves to the CPU: by the published lists of ethos-u-vela 4.5.0 and 5.2.0."""

import json
from typing import Any

import pytest
import yaml

from chipmodel.hardware.chip_file import load_chip
from chipmodel.npu.models import left_to_cpu
from tests.support.folders import ROOT
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.from_yaml.program import parse_yaml_program

CASES: dict[str, Any] = yaml.safe_load((ROOT / "tests" / "data" / "vela_operators.yaml").read_text())
CHIPS = {
    "u55 4.5": load_chip("alif-e7"),
    "u55 5.2": load_chip("alif-e7", ("npu.ethos.compiler=vela-5.2",)),
    "u85 4.5": load_chip("corstone-320", ("npu.ethos.compiler=vela-4.5",)),
    "u85 5.2": load_chip("corstone-320"),
    "none": load_chip("luna-csk6"),
}


@pytest.mark.parametrize("name", CASES)
def test_ops_that_are_left(name: str) -> None:
    case = dict(CASES[name])
    left, inputs = case.pop("left"), {x: case.pop(x) for x in ("x", "y") if x in case}
    text = json.dumps({"name": name, "inputs": inputs, "ops": [case]})
    program = parse_yaml_program(text, "here.yaml")
    assert ", ".join(chip for chip, each in CHIPS.items() if left_to_cpu(each.npu, program)) == left


@pytest.mark.parametrize(
    ("kind", "left"), [("gather", "u55 4.5, u55 5.2"), ("cumsum", ", ".join([*CHIPS][:4]))]
)
def test_kinds_that_no_workload_in_yaml_has(kind: str, left: str) -> None:
    builder = ProgramBuilder(kind)
    builder.output(builder.vector(kind, "op", [builder.input("x", (8, 16))]))
    program = builder.build()
    assert ", ".join(chip for chip, each in CHIPS.items() if left_to_cpu(each.npu, program)) == left


def test_floats_are_left() -> None:
    program = small_network("floats")
    assert [bool(left_to_cpu(each.npu, program)) for each in CHIPS.values()] == [True] * 4 + [False]
