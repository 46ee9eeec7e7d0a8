import struct
from contextlib import suppress
from importlib import import_module
from random import Random
from typing import Any

import pytest

from chipmodel.errors import BadInput, Place
from tests.fuzz.hostile.tflite_models import mutated_words
from tests.support.tflite_models import MODELS, plain
from workloads.from_tflite.model_file import parse_model
from workloads.from_tflite.offline_plan import with_offline_plan

WHERE = Place("m.tflite")
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


def test_a_damaged_file_is_refused_or_written() -> None:
    random = Random(1)
    for _ in range(300):
        data = mutated_words(plain().bytes(), random)
        with suppress(BadInput):
            new, _ = planned(data)
            assert new.endswith(data)
