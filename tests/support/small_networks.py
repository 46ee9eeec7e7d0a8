"""The small networks of ``tests/data/small_networks.yaml``."""

import json
from functools import cache
from typing import Any

import yaml

from chipmodel.model.program import Program
from tests.support.folders import data
from workloads.from_yaml.program import parse_yaml_program

NETWORKS: dict[str, Any] = yaml.load(data("small_networks.yaml"), yaml.CSafeLoader)


@cache
def small_network(name: str) -> Program:
    """The network of that name."""
    return parse_yaml_program(json.dumps({"name": name, **NETWORKS[name]}), "small_networks.yaml")
