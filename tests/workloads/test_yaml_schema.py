"""The JSON Schema of the YAML workload format, and the examples that come with it."""

import importlib
import json
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from chipmodel.errors import BadInput
from workloads.yaml_program import load_yaml_program, parse_yaml_program
from workloads.yaml_schema import schema

EXAMPLES = sorted((Path(__file__).parents[2] / "workloads").glob("*.yaml"))


@pytest.mark.parametrize(
    ("name", "macs", "parameters", "nodes"),
    [
        (
            "decoder_loop",
            128 * 128 + 10 * (64 * 384 + 128 * 384 + 128 * 1000),
            129 * 128 + 1000 * 64 + 65 * 384 + 129 * 384 + 129 * 1000,
            4,
        ),
        (
            "gated_vision",
            48 * 48 * 72 + 24 * 24 * 72 * 16 + 16 * 65 + 144 * 144 * 32 + 144 * 288 * 64 + 64 * 64 + 64 * 128,
            10 * 8 + 73 * 16 + 17 * 65 + 145 * 32 + 289 * 64 + 65 * 64 + 65 * 128,
            7,
        ),
        (
            "plain_bytes",
            40 * 256 + 256 * 12,
            2048 + 1536 + 41 * 256 + 257 * 12,
            6,
        ),
        (
            "tiny_cnn",
            1024 * 27 * 16 + 256 * 9 * 16 + 256 * 16 * 32 + 256 * 9 * 32 + 256 * 32 * 32 + 32 * 10,
            28 * 16 + 10 * 16 + 17 * 32 + 10 * 32 + 33 * 32 + 33 * 10,
            10,
        ),
    ],
)
def test_examples(name: str, macs: int, parameters: int, nodes: int) -> None:
    (path,) = [p for p in EXAMPLES if p.stem == name]
    made = load_yaml_program(path)
    assert (made.macs, made.parameters, len(made.body)) == (macs, parameters, nodes)
    assert made.source == str(path)


def test_every_example_is_tested() -> None:
    assert [p.stem for p in EXAMPLES] == ["decoder_loop", "gated_vision", "plain_bytes", "tiny_cnn"]


def schema_mistakes(data: object) -> list[str]:
    # Without annotations of its own, and so not for the type checkers.
    library: Any = importlib.import_module("jsonschema")
    return [error.message for error in library.Draft202012Validator(schema()).iter_errors(data)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_of_the_schema(path: Path) -> None:
    assert not schema_mistakes(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": {"x": [0]}},
        {"inputs": {"a b": 4}},
        {"dtype": "f32"},
        {"ops": []},
        {"extra": 1},
        {"ops": [{"op": "relu", "in": "x", "stride": 2}]},
        {"ops": [{"op": "conv", "kernel": 3}]},
    ],
)
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
