from fractions import Fraction
from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.chances import chances_of
from chipmodel.model.program import ops
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.folders import WORKLOADS
from workloads.build.control_options import with_probabilities
from workloads.load import load
from workloads.profile import read_profile, with_profile


def profiled(folder: Path, text: str, workload: str) -> dict[str, int | None]:
    path = folder / "cycles.csv"
    path.write_text(text, encoding="utf-8")
    program = with_profile(load(workload), read_profile(path))
    return {op.name: op.cycles for op in ops(program.body)}


def test_measured_cycles_replace_the_models_and_only_those(tmp_path: Path) -> None:
    cycles = profiled(tmp_path, "op,cycles,comment\nconv1,1234,by hand\n\n", "zoo:resnet8")
    assert cycles["conv1"] == 1234
    assert {name for name, value in cycles.items() if value is not None} == {"conv1"}


def test_measured_cycles_reach_arms_loops_and_the_simulation(tmp_path: Path) -> None:
    source = str(WORKLOADS / "gated_vision.yaml")
    path = tmp_path / "cycles.csv"
    path.write_text("cycles,op\n1000000,f1\n")
    program = with_profile(load(source), read_profile(path))
    chip = load_chip("luna-arcs")
    for arm, least in (("face", 1_000_000), ("nothing", 0)):
        trace = run(PlanRequest(program, chip, "large-first", "sync"), {"gate": arm}).trace
        assert (trace.busy("npu") >= 1_000_000) == bool(least)


def test_they_leave_the_probabilities_of_arms_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "cycles.csv"
    path.write_text("cycles,op\n1000000,f1\n")
    given = with_probabilities(load(str(WORKLOADS / "gated_vision.yaml")), {"gate": [Fraction(1, 7)]})
    assert chances_of(with_profile(given, read_profile(path))) == chances_of(given)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "op"),
        ("name,cycles\n", 1, "'op'"),
        ("op,cycles\nconv1,fast\n", 2, "'fast'"),
        ("op,cycles\nconv1,-4\n", 2, "'-4'"),
        ("op,cycles\nconv1\n", 2, "''"),
        ("op,cycles\nconv1,4\nconv1,5\n", 3, "twice"),
        ("op,cycles\nconv1,4\nconv11,5\n", 3, "no op 'conv11'"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        profiled(tmp_path, text, "zoo:resnet8")
    assert f"cycles.csv:{line}:1: " in str(raised.value)
    assert words in str(raised.value)
    assert raised.value.hint
