"""The JSON Schema of the YAML workload format, and the examples that come with it."""

import csv
import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import pytest
import yaml

from chipmodel.errors import BadInput
from tests.support.figures import figure
from tests.support.folders import ROOT, WORKLOADS
from workloads.from_yaml.op_models import SimpleOp
from workloads.from_yaml.program import parse_yaml_program
from workloads.from_yaml.schema import IfOp, LoopOp, schema
from workloads.load import load

EXAMPLES = sorted(path for path in WORKLOADS.glob("*.yaml") if not path.stem.startswith("study"))
assert EXAMPLES


with (ROOT / "tests" / "data" / "example_figures.csv").open(encoding="utf-8") as file:
    FIGURES = {row["name"]: row for row in csv.DictReader(file)}
"""Examples with their MACs, parameters and nodes."""


@pytest.mark.parametrize("name", FIGURES)
def test_examples(name: str) -> None:
    (path,) = [p for p in EXAMPLES if p.stem == name]
    made, counted = load(str(path)), [figure(FIGURES[name][key]) for key in ("macs", "parameters", "nodes")]
    assert [made.macs, made.parameters, len(made.body)] == counted
    assert made.source == str(path)


def test_every_example_is_tested() -> None:
    assert {p.stem for p in EXAMPLES} == {"recurrent_step", *FIGURES}


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


def test_no_op_has_a_key_that_is_called_as_the_op() -> None:
    """pydantic has the kind of an op in the place of an error, and a key would be taken for it."""
    for model in (*get_args(SimpleOp), IfOp, LoopOp):
        kinds = get_args(model.model_fields["op"].annotation)
        assert kinds
        assert not set(kinds) & {field.alias or name for name, field in model.model_fields.items()}
