"""Shapes of outputs whose size depends on data: a bound from the operands, ``--shape``, or an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.from_onnx.graph import Fact, OnnxNode, fault

ASSUMED_LENGTH = 100
"""Elements of a Range whose limits are computed (assumed)."""


@dataclass(frozen=True, slots=True)
class SizedOutput:
    """The shape of an output, with a bound or an assumption for its one unknown size, and why it is this."""

    shape: tuple[int, ...]
    place: int
    """The axis of the unknown size."""
    why: str


def sized_output(node: OnnxNode, name: str, facts: Mapping[str, Fact]) -> SizedOutput | None:
    """The largest that an output of unknown size can be; None for operators without such a bound."""
    first = facts.get(node.input(0))
    if node.domain or first is None or name not in node.outputs:
        return None
    match node.op:
        case "NonZero":
            return SizedOutput((max(1, len(first.shape)), first.elements), 1, "if no element is 0")
        case "NonMaxSuppression":
            return SizedOutput((_most_boxes(node, facts), 3), 0, "if no box suppresses another")
        case "Unique" if "axis" not in node.attributes:
            return SizedOutput((first.elements,), 0, "if no element is there twice")
        case "Compress":
            return _compressed(node, first)
        case "Range":
            return SizedOutput((ASSUMED_LENGTH,), 0, "assumed, as its limits are computed")
        case _:
            return None


def _most_boxes(node: OnnxNode, facts: Mapping[str, Fact]) -> int:
    """Boxes of all batches and classes."""
    boxes, scores = facts[node.input(0)].shape, facts[node.input(1)].shape
    if len(boxes) != 3 or len(scores) != 3:
        raise fault(node, f"its boxes {list(boxes)} and scores {list(scores)} must have 3 axes")
    limit = facts[node.input(2)].array if node.input(2) else None
    most = boxes[1] if limit is None or limit.size != 1 else min(boxes[1], max(1, int(limit.item())))
    return scores[0] * scores[1] * most


def _compressed(node: OnnxNode, x: Fact) -> SizedOutput | None:
    if "axis" not in node.attributes:
        return SizedOutput((x.elements,), 0, "if the condition always holds")
    axis = node.integer("axis", 0)
    if not -len(x.shape) <= axis < len(x.shape):
        return None
    return SizedOutput(x.shape, axis % len(x.shape), "if the condition always holds")


def given_shape(
    node: OnnxNode, name: str, given: tuple[int, ...], bound: SizedOutput | None
) -> tuple[int, ...]:
    """The shape that ``--shape`` gives: all sizes, or only the unknown one."""
    if bound is None or len(given) == len(bound.shape):
        return given
    if len(given) == 1:
        return (*bound.shape[: bound.place], given[0], *bound.shape[bound.place + 1 :])
    what = f"--shape gives its output {name!r} {len(given)} sizes; it has {len(bound.shape)}"
    raise fault(node, what, f"give all, or only the unknown one: --shape {name}=N")
