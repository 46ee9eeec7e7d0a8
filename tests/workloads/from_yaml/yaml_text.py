"""Helpers of the tests of YAML workloads."""

from collections.abc import Sequence
from typing import Any

from chipmodel.model.program import Op, Program
from workloads.from_yaml.program import parse_yaml_program

X = "x: [1, 8, 16, 16]"


def program(*lines: str, inputs: str = X, tail: str = "", **options: Any) -> Program:
    text = f"name: t\ninputs: {{{inputs}}}\nops:\n" + "".join(f"  {line}\n" for line in lines) + tail
    return parse_yaml_program(text, "w.yaml", **options)


def kinds(body: Sequence[object]) -> list[str]:
    return [n.kind if isinstance(n, Op) else type(n).__name__ for n in body]
