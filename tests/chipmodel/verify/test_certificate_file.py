"""Certificates in JSON: read back as they were written, and what is wrong with one is said with its place."""

import json

import pytest

from chipmodel.errors import BadInput
from chipmodel.files.json_file import read_json
from chipmodel.model.certificate import Certificate, as_record, rests_on
from chipmodel.verify.packing_answer import read_certificate
from solvers.core.bounds_certified import best_bound
from tests.solvers.random_problems import random_problem


def read(record: object) -> Certificate:
    return read_certificate(read_json(json.dumps(record), "c.json", "look again"))


@pytest.mark.parametrize("seed", range(60))
def test_a_certificate_survives_json(seed: int) -> None:
    problem = random_problem(seed)
    certificate = best_bound(problem, problem.capacity)
    assert read(as_record(certificate)) == certificate
    assert rests_on(certificate)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "c.json:1:1: the key 'kind' is missing"),
        ([], "c.json:1:1: expected an object, not a list"),
        ({"kind": ["LiveSet"]}, "c.json:1:10: kind: expected LiveSet or Tallest"),
        ({"kind": "Promise", "bytes": 3}, "Searched, not 'Promise'"),
        ({"kind": "LiveSet", "bytes": 3}, "the key 'position' is missing"),
        (
            {"kind": "LiveSet", "bytes": "3", "position": 0, "buffers": []},
            "c.json:1:30: bytes: expected a whole",
        ),
        ({"kind": "LiveSet", "bytes": None, "position": 0, "buffers": []}, "bytes: expected a whole number"),
        (
            {"kind": "LiveSet", "bytes": 3, "position": 0, "buffers": [1]},
            "buffers[0]: expected a string, not 1",
        ),
        ({"kind": "Reachable", "bytes": 3, "floor": 2}, "floor: expected an object, not 2"),
        (
            {"kind": "Reachable", "bytes": 3, "floor": {"kind": "Contradiction"}},
            "floor.kind: expected LiveSet or",
        ),
        ({"kind": "Regions", "bytes": 3, "position": 0, "buffers": 2}, "buffers: expected a list, not 2"),
        (
            {"kind": "Regions", "bytes": 1 << 63, "position": 0, "buffers": []},
            "bytes: 9223372036854775808 is too",
        ),
        ({"kind": "Contradiction", "bytes": 4, "buffers": []}, "bytes: a contradiction excludes"),
        ({"kind": "Searched", "bytes": 4, "solver": "x", "nodes": -1, "record": ""}, "nodes: expected"),
    ],
)
def test_a_malformed_certificate_is_refused(record: object, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(record)
    assert message in str(refused.value)
    assert str(refused.value).endswith("hint: look again")
