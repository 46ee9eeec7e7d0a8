"""What is said beside a workload's file, the same for every kind of file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypedDict

from chipmodel.records import dataclass
from solvers.core.deadline import NO_DEADLINE, Deadline

READ = "the workload was read"
"""What a deadline came before, in the words of the error."""


class ReadOptions(TypedDict, total=False):
    """Options of a function that reads a workload: the fields of ``Reading``."""

    dtype: str | None
    shapes: Mapping[str, tuple[int, ...]]
    strict: bool
    iterations: Mapping[str, int]
    values: Mapping[str, Sequence[float]]
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Reading:
    """How a workload is read. ``dtype`` replaces the element type of tensors and weights, ``shapes`` the
    shapes of inputs, ``iterations`` how often loops run, by name. ``values`` are of an ONNX model's inputs,
    row by row. ``strict`` refuses what would be approximated. Reading that is not done at the ``deadline``
    ends with TimeIsOver."""

    dtype: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    strict: bool = False
    iterations: Mapping[str, int] = field(default_factory=dict[str, int])
    values: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    deadline: Deadline = NO_DEADLINE
