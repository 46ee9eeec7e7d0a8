"""What Vela is asked: networks are the same work as files, and ops are what the model computes."""

from pathlib import Path

import pytest

from bench.vela_networks import write_program
from workloads.load import load


@pytest.mark.parametrize("name", ["ultraface", "yolov4_tiny", "ssdlite_mobilenetv2", "deepface_emotion"])
def test_a_written_network_has_the_same_work(tmp_path: Path, name: str) -> None:
    program = load(f"zoo:{name}")
    again = load(str(write_program(program, tmp_path / "network.tflite")))
    assert again.macs == program.macs
    shapes = [sorted(one.tensors[n].bytes for n in one.outputs) for one in (program, again)]
    assert shapes[0] == shapes[1]
