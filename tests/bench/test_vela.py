"""What Vela is asked: networks are the same work as files, and ops are what the model computes."""

from pathlib import Path

import pytest

from bench.vela_networks import write_program
from bench.vela_ops import Shape, query
from chipmodel.model.program import Op
from chipmodel.model.work import Vector
from workloads.load import load


@pytest.mark.parametrize("name", ["ultraface", "yolov4_tiny", "ssdlite_mobilenetv2", "deepface_emotion"])
def test_a_written_network_has_the_same_work(tmp_path: Path, name: str) -> None:
    program = load(f"zoo:{name}")
    again = load(str(write_program(program, tmp_path / "network.tflite")))
    assert again.macs == program.macs
    shapes = [sorted(one.tensors[n].bytes for n in one.outputs) for one in (program, again)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("view", "rows", "side"),
    [((1, 3, 6, 2), 18, [3, 6, 2]), ((1, 3, 6, 2), 6, [6, 2, 3])],
    ids=["matrix in four axes", "image"],
)
def test_the_channels_are_those_of_the_model(view: tuple[int, ...], rows: int, side: list[int]) -> None:
    op = Op("op", "add", Vector(36, 72, 36, rows), ("x", "z"), ("y",), views=(view, view, view))
    asked = query(Shape("u55", 64, op, "test"))
    assert asked["ifm"] == asked["ofm"] == side
    assert asked["inputs"] == 2
