from contextlib import suppress
from pathlib import Path

import pytest

from chipmodel.errors import BadInput, Place
from tests.support.tflite_models import MODELS, plain
from workloads.from_tflite.model_file import parse_model, read_model

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
    assert (image.shape, image.type, image.constant, image.scales) == ((1, 16, 16, 3), "INT8", False, 1)
    assert (weights.shape, weights.constant, weights.scales) == ((8, 3, 3, 3), True, 8)
    assert weights.value is not None
    assert weights.value.shape == (8, 3, 3, 3)


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
    with pytest.raises(BadInput, match="cannot read the model"):
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
