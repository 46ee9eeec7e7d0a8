"""Files of TensorFlow Lite as they are read, and the offline plan in them."""

import struct
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from chipmodel.errors import BadInput, Place
from tests.support.narrowed import some
from tests.support.tflite_models import MODELS, plain
from workloads.from_tflite.model_file import parse_model, read_model
from workloads.from_tflite.offline_plan import with_offline_plan

WHERE = Place("m.tflite")


def test_a_file_has_its_operators_with_options_and_its_tensors() -> None:
    model = parse_model(plain().bytes(), WHERE)
    (graph,) = model.subgraphs
    assert [op.name for op in graph.operators] == [
        *("CONV_2D", "MAX_POOL_2D", "CONV_2D", "AVERAGE_POOL_2D", "FULLY_CONNECTED", "SOFTMAX")
    ]
    first = graph.operators[0]
    assert (first.integer("StrideH"), first.integer("Padding"), first.integer("none", 7)) == (1, 0, 7)
    image, weights = (graph.tensors[number] for number in first.inputs[:2])
    assert (image.shape, image.type, image.constant, len(image.scales) // 4) == (
        (1, 16, 16, 3),
        "INT8",
        False,
        1,
    )
    assert (weights.shape, weights.constant, len(weights.scales)) == ((8, 3, 3, 3), True, 32)
    assert some(weights.value).shape == (8, 3, 3, 3)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "this is not a TensorFlow Lite model"),
        (b"PK\x03\x04 and so on", "this is not a TensorFlow Lite model"),
        (b"\x10\x00\x00\x00TFL3", "the file is damaged"),
        (b"\xff\xff\xff\x7fTFL3" + bytes(64), "the file is damaged"),
    ],
)
def test_what_is_no_model_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parse_model(data, WHERE)
    assert refusal.value.what.startswith(what)
    assert refusal.value.where == WHERE


def test_a_file_that_is_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_model(tmp_path / "none.tflite", WHERE)
    (tmp_path / "empty.tflite").write_bytes(b"")
    with pytest.raises(BadInput, match="the file is empty"):
        read_model(tmp_path / "empty.tflite", WHERE)


@pytest.mark.parametrize("name", MODELS)
def test_a_truncated_file_is_refused_or_complete(name: str) -> None:
    data = MODELS[name]().bytes()
    for part in range(8, len(data), len(data) // 37):
        with suppress(BadInput):
            assert parse_model(data[:part], WHERE).subgraphs


def test_constants_that_are_shorter_than_their_shape_are_refused() -> None:
    model = plain()
    graph = model.graphs[0]
    weights = graph.operators[0]["inputs"][1]
    graph.tensors[weights]["shape"] = (9, 3, 3, 3)
    with pytest.raises(BadInput, match="has 216 of 243 bytes"):
        parse_model(model.bytes(), WHERE)


def test_a_tensor_that_is_not_there_is_refused() -> None:
    model = plain()
    model.graphs[0].operators[1]["inputs"] = [99]
    with pytest.raises(BadInput, match="there is no tensor 99"):
        parse_model(model.bytes(), WHERE)


tflite: Any = import_module("tflite")


def planned(data: bytes, first: int = 0) -> tuple[bytes, list[int]]:
    count = sum(len(graph.tensors) for graph in parse_model(data, WHERE).subgraphs)
    offsets = [16 * (first + number) for number in range(count)]
    return with_offline_plan(data, offsets, WHERE), offsets


def metadata(data: bytes) -> dict[bytes, bytes]:
    model = tflite.Model.GetRootAs(data, 0)
    entries = (model.Metadata(index) for index in range(model.MetadataLength()))
    return {each.Name(): model.Buffers(each.Buffer()).DataAsNumpy().tobytes() for each in entries}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_same_but_for_the_plan(name: str) -> None:
    data = MODELS[name]().bytes()
    new, offsets = planned(data)
    assert parse_model(new, WHERE) == parse_model(data, WHERE)
    assert new.endswith(data)
    found = struct.unpack(f"<{3 + len(offsets)}i", metadata(new)[b"OfflineMemoryAllocation"])
    assert list(found) == [1, len(parse_model(data, WHERE).subgraphs), len(offsets), *offsets]


def test_constants_stay_aligned() -> None:
    new, _ = planned(plain().bytes())
    model = tflite.Model.GetRootAs(new, 0)
    for index in range(model.BuffersLength()):
        buffer = model.Buffers(index)
        if buffer.DataLength():
            start = buffer.DataAsNumpy().__array_interface__["data"][0]
            base = model.Buffers(index).DataAsNumpy().base
            assert base is not None
            assert (start - _address(new)) % 16 == 0


def _address(data: bytes) -> int:
    import numpy as np

    return int(np.frombuffer(data, np.uint8).__array_interface__["data"][0])


def test_other_metadata_stays_and_an_earlier_plan_goes() -> None:
    model = plain()
    model.metadata["about"] = b"a network"
    once, _ = planned(model.bytes())
    twice, offsets = planned(once, first=5)
    found = metadata(twice)
    assert found[b"about"] == b"a network"
    assert tflite.Model.GetRootAs(twice, 0).MetadataLength() == 2
    assert struct.unpack_from("<i", found[b"OfflineMemoryAllocation"], 12)[0] == offsets[0] == 80


def test_another_number_of_tensors_is_refused() -> None:
    with pytest.raises(BadInput, match="a plan of 2 tensors does not fit"):
        with_offline_plan(plain().bytes(), [0, 16], WHERE)
