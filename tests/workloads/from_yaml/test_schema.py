"""The JSON Schema of the YAML workload format, and the examples that come with it."""

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from chipmodel.errors import BadInput
from tests.support.folders import WORKLOADS
from workloads.from_yaml.program import parse_yaml_program
from workloads.from_yaml.schema import schema
from workloads.load import load

EXAMPLES = sorted(path for path in WORKLOADS.glob("*.yaml") if not path.stem.startswith("study"))
assert EXAMPLES


FIGURES = [
    (
        "branches",
        48 * 48 * 27 * 16 + 3 * 48 * 48 * 144 * 32 + 36 * 864 * 64 + 640,
        28 * 16 + 3 * 145 * 32 + 865 * 64 + 65 * 10,
        11,
    ),
    (
        "decoder_loop",
        128 * 128 + 10 * (64 * 384 + 128 * 384 + 128 * 1000),
        129 * 128 + 1000 * 64 + 65 * 384 + 129 * 384 + 129 * 1000,
        4,
    ),
    (
        "early_exit",
        1024 * 27 * 16 + 160 + 256 * 144 * 32 + 64 * 288 * 64 + 640,
        28 * 16 + 17 * 10 + 145 * 32 + 289 * 64 + 65 * 10,
        6,
    ),
    (
        "gated_vision",
        48 * 48 * 72 + 24 * 24 * 72 * 16 + 16 * 65 + 144 * 144 * 32 + 144 * 288 * 64 + 64 * 64 + 64 * 128,
        10 * 8 + 73 * 16 + 17 * 65 + 145 * 32 + 289 * 64 + 65 * 64 + 65 * 128,
        7,
    ),
    ("micro_speech", 25 * 20 * 8 * 80 + 4000 * 4, 81 * 8 + 4001 * 4, 3),
    ("plain_bytes", 40 * 256 + 256 * 12, 2048 + 1536 + 41 * 256 + 257 * 12, 6),
    ("spoken_words", 12 * (40 * 64 + 64 * 64 + 64 * 100), 41 * 64 + 65 * 64 + 65 * 100, 4),
    (
        "tiny_cnn",
        1024 * 27 * 16 + 256 * 9 * 16 + 256 * 16 * 32 + 256 * 9 * 32 + 256 * 32 * 32 + 32 * 10,
        28 * 16 + 10 * 16 + 17 * 32 + 10 * 32 + 33 * 32 + 33 * 10,
        10,
    ),
    (
        "two_cores",
        48 * 48 * 27 * 16
        + 48 * 48 * 144 * 32
        + 24 * 24 * 288 * 32
        + 48 * 32 * 25 * 16
        + 48 * 32 * (144 + 288) * 32
        + 64 * 64
        + 640,
        28 * 16 + 145 * 32 + 289 * 32 + 26 * 16 + (145 + 289) * 32 + 65 * 64 + 650,
        11,
    ),
    (
        "transformer_block",
        4 * 512 * 128 * 128 + 2 * 4 * 512 * 32 * 512 + 2 * 512 * 128 * 512,
        2 * 2 * 128 + 4 * 129 * 128 + 129 * 512 + 513 * 128,
        18,
    ),
    ("wide_layers", 2 * 64 * 16384, 65 * 16384 + 16385 * 64, 3),
    (
        "recurrent_layers",
        1000 * (40 * 64 + 11 * 64 * 128 + 64 * 12),
        41 * 64 + 11 * 64 * 130 + 65 * 12,
        6,
    ),
    ("workload", 7_932_992, 252_769, 8),
]
"""Examples with their MACs, parameters and nodes."""


@pytest.mark.parametrize(("name", "macs", "parameters", "nodes"), FIGURES)
def test_examples(name: str, macs: int, parameters: int, nodes: int) -> None:
    (path,) = [p for p in EXAMPLES if p.stem == name]
    made = load(str(path))
    assert (made.macs, made.parameters, len(made.body)) == (macs, parameters, nodes)
    assert made.source == str(path)


def test_every_example_is_tested() -> None:
    assert {p.stem for p in EXAMPLES} == {"recurrent_step", *(name for name, *_ in FIGURES)}


@cache
def validator() -> Any:
    # The package has no annotations, so it is hidden from the type checkers.
    library: Any = importlib.import_module("jsonschema")
    return library.Draft202012Validator(schema())


def schema_mistakes(data: object) -> list[str]:
    return [error.message for error in validator().iter_errors(data)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_of_the_schema(path: Path) -> None:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not schema_mistakes(json.loads(json.dumps(data)))  # in JSON every key is a text


REFUSED: list[dict[str, Any]] = [
    {"inputs": {"x": [0]}},
    {"inputs": {"a b": 4}},
    {"dtype": "f32"},
    {"ops": []},
    {"extra": 1},
    {"ops": [{"op": "relu", "in": "x", "stride": 2}]},
    {"ops": [{"op": "conv", "kernel": 3}]},
    {"ops": [{"op": "if", "arms": {"a": {"probability": 2}, "b": []}}]},
    {"ops": [{"op": "if", "arms": {"a": {"exits": True}, "b": []}}]},
    {"ops": [{"op": "loop", "iterations": {"min": 1}, "ops": [{"op": "relu", "in": "x"}]}]},
    {"ops": [{"op": "loop", "iterations": {"-1": 1}, "ops": [{"op": "relu", "in": "x"}]}]},
    {"ops": [{"op": "relu", "core": -1}]},
]


@pytest.mark.parametrize("change", REFUSED)
def test_the_schema_refuses_what_the_loader_refuses(change: dict[str, object]) -> None:
    data = {"name": "t", "inputs": {"x": [4]}, "ops": [{"op": "relu"}]}
    assert not schema_mistakes(data)
    assert schema_mistakes({**data, **change})
    with pytest.raises(BadInput):
        parse_yaml_program(json.dumps({**data, **change}), "w.yaml")


def test_every_key_of_the_schema_is_described() -> None:
    definitions = cast("dict[str, Any]", schema()["$defs"])
    described = [f for m in definitions.values() for k, f in m["properties"].items() if k != "op"]
    assert all(len(f["description"]) > 8 for f in described)
    assert all(m["additionalProperties"] is False for m in definitions.values())
    assert all(m["description"] for m in definitions.values())
